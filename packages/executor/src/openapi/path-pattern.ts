// Which paths a credential is granted for: the template of an operation, or a pattern that an operator wrote.
//
//   R1. Compared is the path as it goes on the wire, after the URL parser, letter for letter: case counts, a slash at the
//       end counts, an empty segment is one.
//   R2. `{name}` and `*` stand for one part of one segment. What stands there must mean the same to every server on the
//       way: no separator, dot segment, path parameter or control character, plain or escaped once or twice.
//   R3. Only in a pattern that an operator wrote, stars mean something, and so does `{+name}`, a value in which separators
//       are escaped, as a URL inside a URL is. `**` ends such a pattern and stands for one or more segments. In the path of
//       an operation a star is a star.
//   R4. Linear: the fixed parts of a segment are looked for from left to right, nothing is tried twice.

import { holdsSeparator } from "./request-url.ts";

export type PathPattern = (pathname: string) => boolean;

/** Fixed text is compared as it is given, so it must be encoded already. Null: this is no pattern. */
export function pathPattern(text: string, kind: "operation" | "written"): PathPattern | null {
  if (!text.startsWith("/")) return null;
  const parts = text.slice(1).split("/");
  const isOpen = kind === "written" && parts.at(-1) === "**";
  const segments = (isOpen ? parts.slice(0, -1) : parts).map((part) => segmentPattern(part, kind === "written"));
  if (segments.some((segment) => segment === null)) return null;
  return (pathname) => {
    if (!pathname.startsWith("/")) return false;
    const given = pathname.slice(1).split("/");
    if (isOpen ? given.length <= segments.length : given.length !== segments.length) return false;
    return given.every((segment, index) => segments[index]?.(segment) ?? isValue(segment));
  };
}

function segmentPattern(text: string, isWritten: boolean): ((segment: string) => boolean) | null {
  const fixed = text.split(isWritten ? /\{[^{}]*\}|\*/ : /\{[^{}]*\}/);
  if (isWritten && text.includes("**")) return null;
  const fits = isWritten && text.includes("{+") ? isEscapedValue : isValue; // R3
  const [first = "", ...others] = fixed;
  const last = others.pop();
  if (last === undefined) return (segment) => segment === first;
  return (segment) => {
    if (!segment.startsWith(first) || !segment.endsWith(last)) return false;
    const end = segment.length - last.length;
    let at = first.length;
    for (const part of others) {
      const found = segment.indexOf(part, at + 1);
      if (found === -1 || !fits(segment.slice(at, found))) return false;
      at = found + part.length;
    } // R4
    return at < end && fits(segment.slice(at, end));
  };
}

const VALUE = /^(?:[A-Za-z0-9\-._~!$&'()*+,=:@]|%[0-9A-Fa-f]{2})+$/;
const ESCAPED_VALUE = /^(?:[A-Za-z0-9\-._~]|%[0-9A-Fa-f]{2})+$/;

/** R2 */
function isValue(text: string): boolean {
  const decoded = VALUE.test(text) ? decode(text) : null;
  return decoded !== null && !isDots(decoded) && !holdsSeparator(decoded);
}

function isEscapedValue(text: string): boolean {
  const decoded = ESCAPED_VALUE.test(text) ? decode(text) : null;
  return decoded !== null && !isDots(decoded);
}

/** Some servers cut a segment at its first `;` before they look for dots. */
function isDots(decoded: string): boolean {
  return /^\.{1,2}(?:;|$)/.test(decoded.trim());
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
