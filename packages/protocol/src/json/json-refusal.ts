// How the JSON gate refuses: one structured error with a code, a kind and the place as a JSON pointer (RFC 6901).

import type { ErrorCode } from "../errors/error-catalogue.ts";
import { BadRequest, type TesseraError } from "../errors/errors.ts";

export type JsonRefusalKind =
  | "not_json"
  | "duplicate_key"
  | "forbidden_key"
  | "too_deep"
  | "too_large"
  | "too_many_keys"
  | "nul"
  | "lone_surrogate"
  | "number"
  | "not_a_json_value"
  | "not_a_plain_object"
  | "cycle"
  | "unreadable";

const CODES: Record<JsonRefusalKind, ErrorCode> = {
  not_json: "invalid_json",
  duplicate_key: "bad_request",
  forbidden_key: "forbidden_key",
  too_deep: "too_deep",
  too_large: "payload_too_large",
  too_many_keys: "payload_too_large",
  nul: "schema_invalid",
  lone_surrogate: "schema_invalid",
  number: "schema_invalid",
  not_a_json_value: "schema_invalid",
  not_a_plain_object: "schema_invalid",
  cycle: "schema_invalid",
  unreadable: "schema_invalid",
};

/** Pointers are cut: a hostile key may be as long as the whole value. */
const POINTER_CHARS_MAX = 200;

export function jsonRefusal(
  kind: JsonRefusalKind,
  message: string,
  path: readonly (string | number)[],
  more: Readonly<Record<string, unknown>> & { readonly cause?: unknown } = {},
): TesseraError {
  const { cause, ...details } = more;
  const pointer = jsonPointer(path);
  return new BadRequest(pointer === "" ? message : `${message} at ${pointer}`, {
    code: CODES[kind],
    details: { kind, pointer, ...details },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** `["a/b", 0]` → `/a~1b/0`; the whole value is the empty pointer. */
export function jsonPointer(path: readonly (string | number)[]): string {
  let pointer = "";
  for (const part of path) {
    if (pointer.length > POINTER_CHARS_MAX) break;
    pointer += `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`;
  }
  return pointer.length <= POINTER_CHARS_MAX ? pointer : `${pointer.slice(0, POINTER_CHARS_MAX - 1).toWellFormed()}…`;
}
