// The reader of guides itself: what it makes of blocks, and that shown output is really compared.

import { describe, expect, it } from "vitest";
import { isAsShown, readGuide } from "./guide-blocks.ts";

const fence = "```";
const guide = (...lines: string[]) => lines.join("\n").replaceAll("'''", fence);

describe("a guide", () => {
  it("is read as files, commands and what they print, by section", () => {
    const text = guide(
      "# Title",
      "## One",
      "'''ts title=\"a/b.ts\"",
      "const x = 1;",
      "'''",
      "'''sh exits=5",
      "false",
      "'''",
      "'''text",
      "no",
      "'''",
      "## Two",
      "'''sh not-run",
      "rm -rf /",
      "'''",
      "'''json",
      "{}",
      "'''",
    );
    expect(readGuide(text)).toEqual([
      {
        title: "One",
        blocks: [
          { kind: "file", line: 3, path: "a/b.ts", text: "const x = 1;\n" },
          { kind: "run", line: 6, text: "false", exits: 5, prints: "no" },
        ],
      },
    ]);
  });

  it.each([
    ["an unknown word", ["# T", "'''sh runs=5", "x", "'''"]],
    ["output without a command", ["# T", "'''text", "x", "'''"]],
    ["a block without an end", ["# T", "'''sh", "x"]],
  ])("with %s is an error, not passed over", (_what, lines) => {
    expect(() => readGuide(guide(...lines))).toThrow(/^line \d/);
  });
});

describe("shown output", () => {
  it.each([
    ["a\nb", "a\nb", true],
    ["a\nb\n", "a\nb", true],
    ["a\nb", "a", false],
    ["a\nc", "a\nb", false],
    ["id tc_123 ok", "id … ok", true],
    ["id tc_123 no", "id … ok", false],
    ["a\nx\ny\nb", "a\n…\nb", true],
    ["a\nb", "a\n…\nb", true],
    ["a\nx\nc", "a\n…\nb", false],
    ["a.c", "abc", false],
    ["abc", "a.c", false],
    ["(1+1)?", "(1+1)?", true],
  ])("%j shown as %j: %s", (output, shown, expected) => {
    expect(isAsShown(output, shown)).toBe(expected);
  });
});
