import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { compilePattern, PATTERN_CHARS_MAX } from "./pattern.ts";

function refusalOf(source: string): string {
  try {
    compilePattern(source);
  } catch (error) {
    if (TesseraError.is(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

describe("a pattern", () => {
  it.each([
    [/^[a-z0-9]+(?:-[a-z0-9]+)*$/, "a-b-c", "a--b"],
    [/^\d{4}-\d{2}-\d{2}$/, "2026-11-15", "2026-1-15"],
    [/^[\w.+-]+@[\w-]+\.[a-z]{2,}$/, "a.b@example.org", "a.b@example"],
    [/^(?<year>\d+)$/, "1999", "x"],
    [/^\u0041\x42$/, "AB", "ab"],
    [/^(?:a|b(?:c|d)?)$/, "bd", "be"],
    [/^[^\]]+$/, "a[b", "]"],
    [/a{,3}/, "a{,3}", "aaa"],
  ])("%s matches as JavaScript would", (native, yes, no) => {
    const pattern = compilePattern(native.source);
    expect([pattern.test(yes), pattern.test(no)]).toEqual([true, false]);
    expect([native.test(yes), native.test(no)]).toEqual([true, false]);
  });

  it.each([
    "^(a+)+$",
    "(a*)*",
    "(?:a+)*",
    "((a+)+)",
    "(a+b?)+",
    "(x|a+)+",
    "(a{2,})+",
    "((?:ab)+)*",
    "(^a+)+",
    "(a+){2,}",
  ])("%s is refused: it repeats what only repeats", (source) => {
    expect(refusalOf(source)).toMatch(/^schema_invalid: .*only repeats/);
  });

  it.each(["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", "(a)\\1", "[", "(", ")", "a)", "*", "[]a]"])(
    "%s is refused: no engine of ours runs it",
    (source) => {
      expect(refusalOf(source)).toMatch(/^schema_invalid: /);
    },
  );

  it.each([
    ["(?=a)b", "(?=…) is a lookahead", "write what follows into the pattern itself"],
    ["x(?!a)b", "(?!…) is a negative lookahead", "list what is allowed there, as in [^x]"],
    ["(?<=a)b", "(?<=…) is a lookbehind", "write what goes before into the pattern itself"],
    ["(?<!a)b", "(?<!…) is a negative lookbehind", "list what is allowed there"],
    ["(a)\\1", "\\1 is a back reference", "write the group's own pattern again"],
    ["(?<n>a)\\k<n>", "\\k is a back reference", "write the group's own pattern again"],
  ])("%s is refused with its name and what to write instead", (source, name, instead) => {
    expect(refusalOf(source)).toContain(name);
    expect(refusalOf(source)).toContain(instead);
  });

  it("is refused before it is compiled when its repeats unroll to too much", () => {
    const started = process.hrtime.bigint();
    expect(refusalOf("x{0,1000}".repeat(50))).toContain("too many instructions");
    expect(refusalOf("((a{99}){99}){99}")).toContain("too many instructions");
    expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(50);
  });

  it("is refused when it is too long or nests too deeply", () => {
    expect(refusalOf("a".repeat(PATTERN_CHARS_MAX + 1))).toContain("longer than");
    expect(refusalOf("(".repeat(200) + ")".repeat(200))).toContain("nest deeper");
  });

  it("takes time in proportion to the text", () => {
    const pattern = compilePattern("^(?:a|aa|a?a)*$");
    const started = process.hrtime.bigint();
    expect(pattern.test(`${"a".repeat(100_000)}!`)).toBe(false);
    expect(Number(process.hrtime.bigint() - started) / 1e6).toBeLessThan(1_000);
  });
});
