// JSON as TypeScript types. Values that passed the JSON gate have these types and null-prototype objects.

export type JsonScalar = string | number | boolean | null;
/** Anything that JSON can say. */
export type JsonValue = JsonScalar | JsonValue[] | JsonObject;
/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** What JSON.stringify writes: nothing that a caller would have to change, and a field that is undefined is left out. */
export type ReadonlyJson = JsonScalar | readonly ReadonlyJson[] | ReadonlyJsonObject;
export type ReadonlyJsonObject = { readonly [key: string]: ReadonlyJson | undefined };

/** An object, and not an array or null. Says nothing about what is inside. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An empty object that inherits nothing: no key from untrusted input can mean anything but itself. */
export function emptyJsonObject(): JsonObject {
  return Object.create(null) as JsonObject;
}
