import { describe, expect, it } from "vitest";
import { readExecuted } from "./executed-frame.ts";
import { createFrameReader, decodeDates, encodeDates, FRAME_BYTES_MAX } from "./frames.ts";
import { createOutputLines, LINE_CHARS_MAX } from "./output-lines.ts";

function reader() {
  const frames: unknown[] = [];
  const broken: string[] = [];
  const read = createFrameReader({ onFrame: (frame) => frames.push(frame), onBroken: (why) => broken.push(why) });
  return { frames, broken, read: (text: string | Buffer) => read(Buffer.from(text)) };
}

describe("frames", () => {
  it("are read however the bytes are cut, also inside a character", () => {
    const { frames, read } = reader();
    const bytes = Buffer.from('{"a":"ü€😀"}\n{"b":2}\n');
    for (const byte of bytes) read(Buffer.of(byte));
    read(bytes);
    expect(frames).toEqual([{ a: "ü€😀" }, { b: 2 }, { a: "ü€😀" }, { b: 2 }]);
  });

  it.each([
    ["text that is not JSON", "nonsense\n"],
    ["an empty line", "\n"],
    ["the key __proto__", '{"__proto__":{"x":1}}\n'],
    ["a value nested too deep", `${"[".repeat(100)}${"]".repeat(100)}\n`],
  ])("end with %s, and nothing after it is read", (_, text) => {
    const { frames, broken, read } = reader();
    read(`{"a":1}\n${text}{"b":2}\n`);
    read('{"c":3}\n');
    expect(frames).toEqual([{ a: 1 }]);
    expect(broken).toHaveLength(1);
  });

  it("end with a line that never ends", () => {
    const { broken, read } = reader();
    for (let sent = 0; sent <= FRAME_BYTES_MAX; sent += 65_536) read("x".repeat(65_536));
    expect(broken).toHaveLength(1);
  });

  it("carry Dates as Dates", () => {
    const value = { at: new Date(5), list: [{ at: new Date(6) }], text: "2020-01-01T00:00:00.000Z", none: null };
    expect(decodeDates(JSON.parse(JSON.stringify(encodeDates(value))))).toEqual(value);
  });
});

describe("what a child says about an executed call", () => {
  const ids = { toolCallId: "tc_1", toolName: "t__x" };

  it("is taken field by field", () => {
    expect(readExecuted({ ...ids, status: "ok", output: [1], extra: true })).toEqual({
      ...ids,
      status: "ok",
      output: [1],
    });
    const error = { message: "m", code: "E", name: 3, retryable: "yes" };
    expect(readExecuted({ ...ids, status: "error", error, wire: { code: "no_such_code", detail: { a: 1 } } })).toEqual({
      ...ids,
      status: "error",
      error: { message: "m", code: "E" },
      wire: { detail: { a: 1 } },
    });
  });

  it.each([
    null,
    "text",
    {},
    { ...ids, status: "maybe" },
    { status: "ok" },
    { ...ids, status: "error" },
    { ...ids, status: "error", error: { message: 3 } },
  ])("is refused when it is %j", (value) => {
    expect(readExecuted(value)).toBeNull();
  });
});

describe("the lines of a child's output", () => {
  it("are whole lines, whatever the chunks, and the last needs no end", () => {
    const lines: string[] = [];
    const output = createOutputLines((line) => lines.push(line));
    for (const byte of Buffer.from("one\r\ntwo €\n\nthree")) output.push(Buffer.of(byte));
    output.end();
    expect(lines).toEqual(["one", "two €", "three"]);
  });

  it("are cut once, and the rest of a long line is not continued in another", () => {
    const lines: string[] = [];
    const output = createOutputLines((line) => lines.push(line));
    output.push(Buffer.from(`${"x".repeat(LINE_CHARS_MAX + 100)}\nnext\n`));
    expect(lines).toEqual([`${"x".repeat(LINE_CHARS_MAX)}... (truncated)`, "next"]);
  });
});
