import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { Mistake } from "./place.ts";
import { readYaml } from "./yaml-gate.ts";
import type { YamlKind } from "./yaml-limits.ts";

const refusedBy = (kind: YamlKind, input: string | Uint8Array): { code: string; at: string; message: string } => {
  try {
    readYaml(input, { kind, file: "t.yaml" });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const { file, line, column } = error.details as Partial<Mistake>;
    expect(error.message.startsWith(`${file}:${line}:${column}: `)).toBe(true);
    return { code: error.code, at: `${line}:${column}`, message: error.message };
  }
  throw new Error("the text was accepted");
};

describe("an upload is refused with its code and place when", () => {
  it.each([
    ["Y1 it is empty", "", "root_must_be_mapping", "1:1"],
    ["Y1 it is only comments", "# a\n# b\n", "root_must_be_mapping", "1:1"],
    ["Y1 it is null", "# a\nnull\n", "root_must_be_mapping", "2:1"],
    ["Y1 it is a list", "- a\n", "root_must_be_mapping", "1:1"],
    ["Y1 it is text", "hello", "root_must_be_mapping", "1:1"],
    ["Y2 a tab indents", "a:\n\tb: 1\n", "bad_request", "2:1"],
    ["Y2 the indent is wrong", "a:\n    b: 1\n  c: 2\n", "bad_request", "3:1"],
    ["Y2 a bracket is not closed", "a: [1,\nb: 2", "bad_request", "2:1"],
    ["Y2 a control character stands in it", "a: 1\nb: x\u0007", "bad_request", "2:5"],
    ["Y3 it uses an alias", "a: &x 1\nb: *x\n", "aliases_not_allowed", "2:4"],
    ["Y3 aliases grow", "a: &a [1, 1]\nb: &b [*a, *a]\nc: [*b, *b]\n", "aliases_not_allowed", "2:8"],
    ["Y4 an alias holds itself", "a: &x [*x]\n", "aliases_not_allowed", "1:8"],
    ["Y5 it has a merge key", "a: 1\n<<: {b: 2}\n", "aliases_not_allowed", "2:1"],
    ["Y5 a nested mapping has one", "a:\n  <<: {b: 2}\n", "aliases_not_allowed", "2:3"],
    ["Y5 an old version directive asks for them", "%YAML 1.1\n---\n<<: {b: 2}\n", "aliases_not_allowed", "3:1"],
    ["Y6 a key is repeated", "a: 1\nb: 2\na: 3\n", "bad_request", "3:1"],
    ["Y6 two keys become one string", "1: a\n'1': b\n", "bad_request", "2:1"],
    ["Y6 it has two documents", "a: 1\n---\nb: 2\n", "bad_request", "2:1"],
    ["Y7 it holds a function", "a: 1\nb: !!js/function 'x'\n", "tag_not_allowed", "2:4"],
    ["Y7 it holds binary", "a: !!binary aGk=\n", "tag_not_allowed", "1:4"],
    ["Y7 it holds a custom tag", "a: !custom 1\n", "tag_not_allowed", "1:4"],
    ["Y7 a key has a tag", "a: 1\n!custom b: 1\n", "tag_not_allowed", "2:1"],
    ["Y7 a mapping has a tag", "a: !x {b: 1}\n", "tag_not_allowed", "1:4"],
    ["Y7 a directive renames a tag", "%TAG ! tag:yaml.org,2002:\n---\na: !binary aGk=\n", "tag_not_allowed", "3:4"],
    ["Y8 brackets nest 5,000 deep", `a: ${"[".repeat(5_000)}${"]".repeat(5_000)}`, "too_deep", "1:68"],
    ["Y8 braces nest 5,000 deep", `a: ${"{a: ".repeat(5_000)}`, "too_deep", "1:260"],
    ["Y8 dashes nest 5,000 deep", `a:\n  ${"- ".repeat(5_000)}b`, "too_deep", "2:131"],
    ["Y8 it is larger than 256 KiB", `a: ${"x".repeat(300_000)}`, "payload_too_large", "1:1"],
    ["Y9 a number is infinite", "a:\n  b: .inf\n", "schema_invalid", "2:6"],
    ["Y9 a number is too large to be one", "a: 1\nb: 1e999\n", "schema_invalid", "2:4"],
    ["Y9 a number is none", "a: [1, .nan]\n", "schema_invalid", "1:8"],
    ["a number is not exact", "a: 9007199254740993\n", "schema_invalid", "1:4"],
    ["a key is __proto__", "a: 1\n__proto__: {b: 1}\n", "forbidden_key", "2:1"],
    ["a key is a list", "a: 1\n[b]: 2\n", "bad_request", "2:1"],
    ["a string holds NUL", 'a: "\\0"\n', "schema_invalid", "1:4"],
  ])("%s", (_, text, code, at) => {
    expect(refusedBy("upload", text)).toMatchObject({ code, at });
  });

  it("bytes are not UTF-8", () => {
    expect(refusedBy("upload", Uint8Array.of(0x61, 0x3a, 0xc3, 0x28))).toMatchObject({
      code: "invalid_encoding",
      at: "1:1",
    });
  });

  it("indentation nests 500 deep", () => {
    const text = Array.from({ length: 500 }, (_, depth) => `${" ".repeat(depth)}a:`).join("\n");
    expect(refusedBy("upload", text)).toMatchObject({ code: "too_deep", at: "66:66" });
  });
});

it("depth 64 is accepted and 65 refused", () => {
  const nested = (depth: number): string => `a: ${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}`;
  expect(readYaml(nested(64), { kind: "upload", file: "t" })).toHaveLength(1);
  expect(refusedBy("upload", nested(65)).code).toBe("too_deep");
});

it("a refused number names its field", () => {
  expect(refusedBy("upload", "options:\n  timeout: .inf\n").message).toContain("/options/timeout");
});

it("hostile texts of the full size cost no more than honest ones", () => {
  const texts = [
    Array.from({ length: 40_000 }, (_, i) => `${i.toString(36)}:`).join("\n"),
    `a: [${",".repeat(250_000)}]`,
    `a: ]${"]".repeat(250_000)}`,
    "- ".repeat(130_000),
    "---\n".repeat(60_000),
    `a: "${"x\n".repeat(125_000)}"`,
  ];
  for (const text of texts) {
    const startedAt = performance.now();
    expect(() => readYaml(text, { kind: "upload", file: "t" })).toThrow(TesseraError);
    expect(performance.now() - startedAt).toBeLessThan(5_000); // half a second; a step that grows with the square took 14
  }
});

describe("a bundle file", () => {
  it("may hold many documents of any shape, and a few aliases", () => {
    const documents = readYaml("a: &x {b: 1}\nc: *x\n---\n- 1\n---\n# nothing\n", { kind: "bundle", file: "t" });
    expect(documents.map((document) => document.value)).toEqual([{ a: { b: 1 }, c: { b: 1 } }, [1], null]);
    expect(documents.map((document) => document.index)).toEqual([0, 1, 2]);
  });

  const laughs = ["a: &a [1,1,1,1,1,1,1,1,1,1]"];
  for (const [name = "", of = ""] of ["ba", "cb", "dc", "ed", "fe", "gf", "hg"].map((pair) => pair.split(""))) {
    laughs.push(`${name}: &${name} [${Array(10).fill(`*${of}`).join(",")}]`);
  }

  it.each([
    ["broken YAML", "a: [1,\nb: 2", "E_CONFIG_PARSE_ERROR", "2:1"],
    ["a repeated key", "a: 1\n---\nb: 1\nb: 2\n", "E_CONFIG_PARSE_ERROR", "4:1"],
    ["an alias to nothing", "a: 1\nb: *x\n", "E_CONFIG_PARSE_ERROR", "2:4"],
    ["an alias that holds itself", "a: &x [*x]\n", "E_CONFIG_PARSE_ERROR", "1:8"],
    ["101 documents", "--- 1\n".repeat(101), "E_CONFIG_TOO_MANY_DOCUMENTS", "101:1"],
    ["101 aliases", `a: &x 1\nb: [${"*x, ".repeat(101)}]\n`, "aliases_not_allowed", "2:405"],
    ["few aliases that unfold without end", laughs.join("\n"), "aliases_not_allowed", "1:1"],
    ["more than 1 MiB", `a: ${"x".repeat(1_048_576)}`, "E_CONFIG_FILE_TOO_LARGE", "1:1"],
    ["an infinite number", "a: .inf\n", "E_CONFIG_SCHEMA_INVALID", "1:4"],
    ["a custom tag", "a: !x 1\n", "tag_not_allowed", "1:4"],
    ["a merge key", "a: &x {b: 1}\nc:\n  <<: *x\n", "aliases_not_allowed", "3:3"],
  ])("is refused for %s", (_, text, code, at) => {
    expect(refusedBy("bundle", text)).toMatchObject({ code, at });
  });
});

describe("a document that passed", () => {
  const text =
    "\ufeffname: x\r\nspec:\r\n  exports:\r\n    - name: 'a/b'\r\n      k/~: [1, {z: 2}]\r\n  empty:\r\nshared: &s {v: 1}\r\nuse: *s\r\n";
  const [document] = readYaml(text, { kind: "bundle", file: "t" });

  it.each([
    ["", "value", 1, 1],
    ["/name", "value", 1, 7],
    ["/name", "key", 1, 1],
    ["/spec/exports/0", "value", 4, 7],
    ["/spec/exports/0/name", "value", 4, 13],
    ["/spec/exports/0/k~1~0", "key", 5, 7],
    ["/spec/exports/0/k~1~0/1/z", "value", 5, 20],
    ["/spec/empty", "value", 6, 3],
    ["/use/v", "value", 7, 16],
    ["/spec/missing", "value", 3, 3],
    ["/spec/exports/7/name", "value", 4, 5],
  ] as const)("locates %s (%s) at %i:%i", (pointer, part, line, column) => {
    expect(document?.locate(pointer, part)).toEqual({ line, column });
  });

  it("holds null-prototype objects and plain values only", () => {
    expect(Object.getPrototypeOf(document?.value)).toBeNull();
    const [read] = readYaml('a: yes\nb: 0x10\nc: 2001-01-01\nd: ~\ne: !!str 1\n"<<": 1\ntrue: 1\n', {
      kind: "upload",
      file: "t",
    });
    expect(read?.value).toEqual({ a: "yes", b: 16, c: "2001-01-01", d: null, e: "1", "<<": 1, true: 1 });
  });

  it("leaves the process as it was", () => {
    const before = Error.stackTraceLimit;
    expect(() => readYaml("a: ]", { kind: "upload", file: "t" })).toThrow();
    expect(Error.stackTraceLimit).toBe(before);
  });
});

it("a hostile file name neither breaks the line nor fills the message", () => {
  try {
    readYaml("", { kind: "upload", file: `a\nb${"x".repeat(5_000)}` });
    expect.unreachable();
  } catch (error) {
    expect((error as Error).message).toMatch(/^a\?bx+…:1:1: /);
    expect((error as Error).message.length).toBeLessThanOrEqual(1_000);
  }
});
