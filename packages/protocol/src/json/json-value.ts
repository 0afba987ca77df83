// JSON as TypeScript types. Values that passed the JSON gate have these types and null-prototype objects.

export type JsonScalar = string | number | boolean | null;
/** Anything that JSON can say. */
export type JsonValue = JsonScalar | JsonValue[] | JsonObject;
/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** An object, and not an array or null. Says nothing about what is inside. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An empty object that inherits nothing: no key of a stranger can mean anything but itself. */
export function emptyJsonObject(): JsonObject {
  return Object.create(null) as JsonObject;
}
