// Paths into JSON: `a[0].b`, `a.0.b`, `[a.b]`; `.` or nothing is the whole value. Every text of a bounded size is a path, as
// in Goondan's json-query: dots and brackets separate parts, within brackets a dot is a character like others, and what is
// between two separators that follow one another is no part. There are no quotes, no wildcards and no expressions, so that
// every path costs as many steps as it has parts.

import { BadRequest, isJsonObject, type JsonValue } from "@tessera/protocol";

const PATH_CHARS_MAX = 1_024;
const PARTS_MAX = 128;
/** What follows an opening bracket, dots included, or what is between dots. */
const PARTS = /\[([^[\]]*)|[^.[\]]+/g;
/** `-1` and `1x` are keys, and no element of an array has them. */
const INDEX = /^\d{1,9}$/;

export function parseJsonPath(path: string): string[] {
  if (path.length > PATH_CHARS_MAX) throw new BadRequest(`a path has at most ${PATH_CHARS_MAX} characters`);
  const parts = [...path.matchAll(PARTS)].map(([text, inBrackets]) => inBrackets ?? text).filter((part) => part !== "");
  if (parts.length > PARTS_MAX) throw new BadRequest(`a path has at most ${PARTS_MAX} parts`);
  return parts;
}

/** What the path leads to, or undefined. Own properties only: `constructor` and `length` are names like others. */
export function valueAt(value: JsonValue, parts: readonly string[]): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const part of parts) {
    if (Array.isArray(current)) {
      current = INDEX.test(part) ? current[Number(part)] : undefined;
    } else {
      current = isJsonObject(current) && Object.hasOwn(current, part) ? current[part] : undefined;
    }
    if (current === undefined) return undefined;
  }
  return current;
}
