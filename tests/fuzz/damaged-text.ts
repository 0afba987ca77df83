// Copies of good texts and of their bytes, damaged by a few small edits each: a failing input shrinks to those that matter.

import fc from "fast-check";
import { anyUnits, LONE_SURROGATE } from "./hostile-values.ts";

const FRAGMENTS: readonly string[] = [
  ...[
    "\t",
    "\n",
    "\r\n",
    "  ",
    "- ",
    "? ",
    ": ",
    ":",
    ".",
    ",",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!t ",
    "!!js/function ",
    "<<: ",
  ],
  ...[
    "|",
    ">",
    "'",
    '"',
    "---\n",
    "...\n",
    "%",
    "#",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\u005f_proto__",
    "__proto__",
    "null",
    "true",
  ],
  ...[
    "-1",
    "1e999",
    ".inf",
    "0x10",
    "\0",
    "\ufeff",
    "\u202e",
    LONE_SURROGATE,
    "é",
    "𝒳",
    "/",
    "~1",
    "=",
    "&",
    "?",
    "%2e%2e",
    "%00",
  ],
];

/** Copies of a text, each damaged by one to five edits. */
export function damagedText(example: string, fragments: readonly string[] = FRAGMENTS): fc.Arbitrary<string> {
  const edit = fc.record({
    kind: fc.constantFrom("insert", "insert", "cut", "double", "end"),
    at: fc.nat(100_000),
    length: fc.nat(24),
    fragment: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: anyUnits }),
    times: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
      { weight: 1, arbitrary: fc.constant(900) },
    ),
  });
  return fc.array(edit, { minLength: 1, maxLength: 5 }).map((edits) =>
    edits.reduce((text, { kind, at: place, length, fragment, times }) => {
      const at = text.length === 0 ? 0 : place % text.length;
      if (kind === "insert") return text.slice(0, at) + fragment.repeat(times) + text.slice(at);
      if (kind === "cut") return text.slice(0, at) + text.slice(at + length);
      if (kind === "double") return text.slice(0, at + length) + text.slice(at);
      return text.slice(0, at);
    }, example),
  );
}

/** Bytes of a damaged text, or with bytes put in that no text has. */
export function damagedBytes(example: string): fc.Arbitrary<Uint8Array> {
  const spoiled = fc
    .array(fc.tuple(fc.nat(100_000), fc.uint8Array({ minLength: 1, maxLength: 4 })), { minLength: 1, maxLength: 3 })
    .map((cuts) =>
      cuts.reduce((bytes, [place, put]) => {
        const at = place % (bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + put.length)]);
      }, Buffer.from(example)),
    );
  return fc.oneof(
    damagedText(example).map((text) => Buffer.from(text)),
    spoiled,
    fc.uint8Array({ maxLength: 200 }),
  );
}
