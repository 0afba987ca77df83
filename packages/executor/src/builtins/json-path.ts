// Paths into JSON: `a[0].b`, with an optional dot in front; `.` or nothing is the whole value. No quotes, no wildcards and
// no expressions, so that every path costs as many steps as it has parts.

import { BadRequest, isJsonObject, type JsonValue } from "@tessera/protocol";

const PATH_CHARS_MAX = 1_024;
const PARTS_MAX = 128;
const PART = /^(?:([^.[\]]+)|\[(\d{1,9})\])/;

export type JsonPathPart = string | number;

export function parseJsonPath(path: string): JsonPathPart[] {
  if (path.length > PATH_CHARS_MAX) throw new BadRequest(`a path has at most ${PATH_CHARS_MAX} characters`);
  const parts: JsonPathPart[] = [];
  let rest = path.startsWith(".") ? path.slice(1) : path;
  while (rest !== "") {
    const found = PART.exec(rest);
    if (found === null || parts.length === PARTS_MAX) throw malformed(path);
    parts.push(found[1] ?? Number(found[2]));
    rest = rest.slice(found[0].length);
    if (rest.startsWith(".")) {
      rest = rest.slice(1);
      if (rest === "" || rest.startsWith("[")) throw malformed(path);
    } else if (rest !== "" && !rest.startsWith("[")) {
      throw malformed(path); // `[0]b`
    }
  }
  return parts;
}

/** What the path leads to, or undefined. Own properties only: `constructor` and `length` are names like others. */
export function valueAt(value: JsonValue, parts: readonly JsonPathPart[]): JsonValue | undefined {
  let current: JsonValue | undefined = value;
  for (const part of parts) {
    if (typeof part === "number") {
      current = Array.isArray(current) ? current[part] : undefined;
    } else {
      current = isJsonObject(current) && Object.hasOwn(current, part) ? current[part] : undefined;
    }
    if (current === undefined) return undefined;
  }
  return current;
}

function malformed(path: string): BadRequest {
  return new BadRequest(`${JSON.stringify(path.slice(0, 100))} is not a path; write it like a[0].b`);
}
