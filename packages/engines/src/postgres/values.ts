// How values cross the wire between JavaScript and PostgreSQL, the same for every adapter that speaks its protocol.
//
// Everything travels in text format, except bytes, which are sent as they are.
//
//   V1. Encoding does not look at the parameter's type, so a statement needs no describe before it is bound.
//   V2. Timestamps stay text: microseconds survive, and no time zone is applied. The session must have
//       DateStyle ISO and TimeZone UTC; then `2026-01-02 03:04:05.678901+00` becomes `2026-01-02T03:04:05.678901Z`.
//   V3. A bigint is a number or an error, never a rounded number.

import { DatabaseError } from "@tessera/kernel/ports";

export type WireValue = string | Uint8Array | null;

/** What must be set in a session so that V2 holds. */
export const VALUE_SETTINGS = "set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set bytea_output = 'hex'";

/** Turns the values of a statement into what is sent (V1). */
export function encodeValues(values: readonly unknown[]): WireValue[] {
  return values.map((value, index) => {
    if (value instanceof Uint8Array) return value;
    return encodeText(value, index);
  });
}

function encodeText(value: unknown, index: number): string | null {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    case "undefined":
      return null;
    case "object":
      if (value === null) return null;
      if (value instanceof Date) return value.toISOString();
      if (Array.isArray(value)) return encodeArray(value, index);
  }
  throw new DatabaseError(
    "statement",
    `cannot send value $${index + 1} of type ${typeof value}; pass text, a number, a boolean, a Date, bytes, ` +
      "an array of these, or JSON as text",
  );
}

function encodeArray(items: readonly unknown[], index: number): string {
  const parts = items.map((item) => {
    if (Array.isArray(item)) return encodeArray(item, index);
    const text = item instanceof Uint8Array ? `\\x${Buffer.from(item).toString("hex")}` : encodeText(item, index);
    return text === null ? "NULL" : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  });
  return `{${parts.join(",")}}`;
}

export type Decode = (text: string) => unknown;

const asText: Decode = (text) => text;

const SCALARS: ReadonlyMap<number, Decode> = new Map<number, Decode>([
  [16, (text) => text === "t"], // bool
  [17, decodeBytes], // bytea
  [20, decodeBigint], // int8
  [21, Number], // int2
  [23, Number], // int4
  [26, Number], // oid
  [114, (text) => JSON.parse(text)], // json
  [700, Number], // float4
  [701, Number], // float8
  [1114, decodeTimestamp], // timestamp
  [1184, decodeTimestamp], // timestamptz
  [3802, (text) => JSON.parse(text)], // jsonb
]);

/** Array type → element type, for the array types of the built-in scalars and of those that stay text. */
const ARRAYS: ReadonlyMap<number, number> = new Map([
  [1000, 16],
  [1001, 17],
  [1016, 20],
  [1005, 21],
  [1007, 23],
  [1028, 26],
  [199, 114],
  [1021, 700],
  [1022, 701],
  [1115, 1114],
  [1185, 1184],
  [3807, 3802],
  [1002, 18], // char
  [1003, 19], // name
  [1009, 25], // text
  [1014, 1042], // bpchar
  [1015, 1043], // varchar
  [1182, 1082], // date
  [1231, 1700], // numeric
  [2951, 2950], // uuid
]);

/** The decoder of a column; types not listed (date, numeric, uuid, text, enums …) stay text. */
export function decoderOf(typeOid: number): Decode {
  const element = ARRAYS.get(typeOid);
  if (element === undefined) return SCALARS.get(typeOid) ?? asText;
  const decode = decoderOf(element);
  return (text) => decodeArray(text, decode);
}

function decodeBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.slice(2), "hex"));
}

function decodeBigint(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new DatabaseError(
    "statement",
    `column value ${text} does not fit a number (V3); cast it to text. The statement itself has been carried out`,
  );
}

const TIMESTAMP = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(?:([+-]\d\d)(:\d\d)?)?$/;

/** `infinity` and years before Christ have no ISO form and stay as PostgreSQL prints them. */
function decodeTimestamp(text: string): string {
  const match = TIMESTAMP.exec(text);
  if (match === null) return text;
  const [, date, time, hours, minutes] = match;
  if (hours === undefined) return `${date}T${time}`;
  return hours === "+00" && minutes === undefined ? `${date}T${time}Z` : `${date}T${time}${hours}${minutes ?? ":00"}`;
}

/** Reads `{a,"b \"c\"",NULL,{…}}`. The server wrote it, so it is well formed; an explicit lower bound is dropped. */
function decodeArray(text: string, decode: Decode): unknown[] {
  let at = text.startsWith("[") ? text.indexOf("=") + 1 : 0;
  const readList = (): unknown[] => {
    const items: unknown[] = [];
    at++; // the opening brace
    while (text[at] !== "}") {
      if (text[at] === ",") at++;
      else if (text[at] === "{") items.push(readList());
      else if (text[at] === '"') items.push(decode(readQuoted()));
      else items.push(readBare());
    }
    at++; // the closing brace
    return items;
  };
  const readQuoted = (): string => {
    let value = "";
    for (at++; text[at] !== '"'; at++) {
      if (text[at] === "\\") at++;
      value += text[at];
    }
    at++;
    return value;
  };
  const readBare = (): unknown => {
    const start = at;
    while (text[at] !== "," && text[at] !== "}") at++;
    const value = text.slice(start, at);
    return value === "NULL" ? null : decode(value);
  };
  return readList();
}
