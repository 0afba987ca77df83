// `$ref` in an OpenAPI document.
//
//   F1. Only places inside the document: a reference to anywhere else would let the document's author choose what is fetched.
//   F2. A reference that leads to itself is refused, and chains are bounded.

import { BadRequest, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";

const CHAIN_MAX = 32;

/** Follows `$ref`s until something that is none. `trail` holds the references that are open around this place. */
export function resolveReference(
  document: JsonObject,
  value: JsonValue | undefined,
  trail: readonly string[] = [],
): { readonly value: JsonValue | undefined; readonly trail: readonly string[] } {
  let at = value;
  let open = trail;
  while (isJsonObject(at) && typeof at.$ref === "string") {
    const reference = at.$ref;
    if (!reference.startsWith("#/")) throw refusal(reference, "leads out of the document"); // F1
    if (open.includes(reference)) throw refusal(reference, "leads to itself"); // F2
    if (open.length >= CHAIN_MAX) throw refusal(reference, `is more than ${CHAIN_MAX} references deep`);
    open = [...open, reference];
    at = lookUp(document, reference);
    if (at === undefined) throw refusal(reference, "names nothing");
  }
  return { value: at, trail: open };
}

function lookUp(document: JsonObject, reference: string): JsonValue | undefined {
  let at: JsonValue | undefined = document;
  for (const part of reference.slice(2).split("/")) {
    const key = decode(part).replaceAll("~1", "/").replaceAll("~0", "~");
    const holder: JsonValue | undefined = at;
    if (typeof holder !== "object" || holder === null || !Object.hasOwn(holder, key)) return undefined;
    at = (holder as JsonObject)[key];
  }
  return at;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // A percent sign that is no escape.
  }
}

function refusal(reference: string, why: string): BadRequest {
  return new BadRequest(`the reference ${JSON.stringify(reference.slice(0, 200))} ${why}`, {
    details: { ref: reference.slice(0, 200) },
  });
}
