import { gateJson } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { createFormFinder } from "./form-finder.ts";
import { createMaskCache, createSecretMask, MASK, NO_SECRETS } from "./secret-mask.ts";

const SECRET = 's3cr3t/+value=ünï "quoted"';
const mask = createSecretMask([SECRET]);

const upper = (text: string) => text;
const lower = (text: string) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());

const FORMS: Readonly<Record<string, string>> = {
  raw: SECRET,
  "URL-encoded, upper case": upper(encodeURIComponent(SECRET)),
  "URL-encoded, lower case": lower(encodeURIComponent(SECRET)),
  "form-encoded": new URLSearchParams({ k: SECRET }).toString().slice(2),
  "every byte percent-encoded": [...Buffer.from(SECRET)].map((byte) => `%${byte.toString(16)}`).join(""),
  base64: Buffer.from(SECRET).toString("base64"),
  base64url: Buffer.from(SECRET).toString("base64url"),
  "base64 in a URL": encodeURIComponent(Buffer.from(SECRET).toString("base64")),
  hex: Buffer.from(SECRET).toString("hex"),
  "upper-case hex": Buffer.from(SECRET).toString("hex").toUpperCase(),
  "JSON-escaped": JSON.stringify(SECRET).slice(1, -1),
};

/** What is left of the secret must be no longer than the few bits at the edges of base64. */
function expectGone(masked: string, form: string): void {
  expect(masked).toContain(MASK);
  for (let at = 0; at + 6 <= form.length; at++) {
    const piece = form.slice(at, at + 6);
    expect(masked, `${piece} of ${form}`).not.toContain(piece);
  }
}

describe("the secret mask", () => {
  it.each(Object.entries(FORMS))("hides a secret that is %s", (_, form) => {
    expectGone(mask.text(`before ${form} after`), form);
    expect(mask.text(`before ${form} after`)).toMatch(/^before .*after$/);
  });

  it.each([0, 1, 2, 3, 4, 5])("hides a secret inside the base64 of a longer text, %i bytes in", (before) => {
    const text = Buffer.from(`${"x".repeat(before)}${SECRET}tail`).toString("base64");
    const core = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + Buffer.byteLength(SECRET)) * 8) / 6));
    expectGone(mask.text(text), core);
    const url = Buffer.from(`${"x".repeat(before)}${SECRET}tail`).toString("base64url");
    expect(mask.text(url)).toContain(MASK);
  });

  it("hides keys, and values however deep, and leaves the rest as it is", () => {
    const value = { a: [{ [`k-${SECRET}`]: SECRET }, 1, true, null], b: "plain" };
    expect(mask.value(gateJson(value))).toEqual({ a: [{ [`k-${MASK}`]: MASK }, 1, true, null], b: "plain" });
    expect(mask.value(new Date(0))).toEqual(new Date(0));
  });

  it("hides every line of a secret with many lines, because logs are split into lines", () => {
    const pem = createSecretMask(["-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nu1SU1LfVLPHCozMx\n-----END KEY-----"]);
    expect(pem.text("the second line is u1SU1LfVLPHCozMx")).toBe("the second line is ***");
  });

  it("hides a short secret only where it is the whole string, and a number that is the secret", () => {
    const short = createSecretMask(["abc", "12345"]);
    expect(short.value({ x: "abc", y: "abcdef", n: 12345, m: 123456 })).toEqual({
      x: MASK,
      y: "abcdef",
      n: MASK,
      m: 123456,
    });
  });

  it("hides the beginning of a secret at the end of a message that was cut", () => {
    expect(mask.text(`failed with ${SECRET.slice(0, 9)}... (truncated)`)).toBe(`failed with ${MASK}... (truncated)`);
    expect(mask.text("failed with s3... (truncated)")).toBe("failed with s3... (truncated)");
  });

  it("joins overlapping secrets into one mask", () => {
    const both = createSecretMask(["abcdef", "defghi", "cdef"]);
    expect(both.text("xabcdefghiy")).toBe("x***y");
    expect(both.text("abcdefabcdef")).toBe("***");
  });

  it("is made once for the same secrets", () => {
    const maskOf = createMaskCache();
    expect(maskOf([])).toBe(NO_SECRETS);
    const first = maskOf(["secret-one"]);
    expect(maskOf(["secret-one"])).toBe(first);
    for (let other = 0; other < 100; other++) expect(maskOf([`secret-${other}`]).text(`secret-${other}`)).toBe(MASK);
    expect(maskOf(["secret-one"])).not.toBe(first);
  });

  it("does nothing when there is nothing to hide", () => {
    expect(createSecretMask(["", ""])).toBe(NO_SECRETS);
    const value = { a: 1 };
    expect(NO_SECRETS.value(value)).toBe(value);
  });

  it("stays linear when the text is made to be slow to search", () => {
    const hostile = createSecretMask([`${"a".repeat(4_000)}b`]);
    const started = performance.now();
    hostile.text("a".repeat(1_000_000));
    expect(performance.now() - started).toBeLessThan(5_000); // a search per place would compare 4,000,000,000 times
  });

  it("does not throw for a lone surrogate or a value deeper than any gate", () => {
    let deep: unknown = SECRET;
    for (let level = 0; level < 10_000; level++) deep = [deep];
    expect(JSON.stringify(mask.value(deep))).not.toContain(SECRET);
    expect(() => createSecretMask(["\ud800abcdef"]).text("x")).not.toThrow();
  });
});

describe("the form finder", () => {
  it("finds words that begin inside other words", () => {
    const finder = createFormFinder(["she", "he", "hers"]);
    expect(finder.find("ushers")).toEqual([[1, 6]]);
    expect(finder.find("he he")).toEqual([
      [0, 2],
      [3, 5],
    ]);
    expect(finder.find("shx")).toEqual([]);
    expect(finder.startedAtEnd("xxher")).toBe(3);
  });
});
