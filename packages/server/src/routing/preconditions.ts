// `If-Match` and `ETag`: who changes something may say which version of it was read.
//
//   M1. Only the one strong tag that this server answered with matches; `*` asks that the resource exists.
//   M2. Without If-Match, the last writer wins.

import { BadRequest } from "@tessera/protocol";
import { HttpRefusal } from "./problem.ts";
import type { ApiRequest } from "./route-spec.ts";

export const IF_MATCH = { "If-Match": "The ETag of the version that was read; 412 when there is another by now." };

const STRONG_TAG = /^"([\x21\x23-\x7e]{1,128})"$/;

export const etag = (version: string): { readonly etag: string } => ({ etag: `"${version}"` });

/** The version that must be the current one, `*` for any; null when nothing was said. */
export function ifMatch(request: ApiRequest): string | null {
  const text = request.header("if-match");
  if (text === null || text === "*") return text;
  const version = STRONG_TAG.exec(text)?.[1];
  if (version !== undefined) return version;
  if (/^W\/"/.test(text)) throw preconditionFailed(); // M1: a weak tag matches nothing
  throw new BadRequest('If-Match must be one ETag in quotation marks, or "*"', { details: { field: "If-Match" } });
}

export function preconditionFailed(): HttpRefusal {
  return new HttpRefusal("precondition_failed", "it changed since it was read; read it again and decide", {
    details: { field: "If-Match" },
  });
}
