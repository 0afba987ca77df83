// A message as the text of a notification: `<number> <kind><subject>\n<headers as JSON>\n<data>`.
//
//   Y1. At most 7,999 bytes: PostgreSQL takes no more.
//   Y2. The number differs between any two messages of a process. PostgreSQL delivers equal notifications of one
//       transaction once, and a batch is one transaction.
//   Y3. Data that is text without NUL travels as it is, anything else as base64.

import { isUtf8 } from "node:buffer";
import type { BusMessage } from "@tessera/kernel/ports";
import { BusError } from "@tessera/kernel/ports";
import { assertMessageFits } from "../delivery/message-bytes.ts";

const PAYLOAD_BYTES_MAX = 7_999;
/** What fits in any case: as base64 (7,200 bytes), with the longest subject and the JSON of some forty headers. */
export const MESSAGE_BYTES_MAX = 5_400;

/** Throws `too_large`. */
export function encodePayload(message: BusMessage, number: number): string {
  assertMessageFits(message, MESSAGE_BYTES_MAX);
  const { subject, headers, data } = message;
  const isText = isUtf8(data) && !data.includes(0);
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const body = bytes.toString(isText ? "utf8" : "base64"); // Y3
  const payload = `${number.toString(36)} ${isText ? "t" : "b"}${subject}\n${JSON.stringify(headers)}\n${body}`;
  if (Buffer.byteLength(payload) > PAYLOAD_BYTES_MAX) {
    const why = `needs more than the ${PAYLOAD_BYTES_MAX} bytes of a notification`;
    throw new BusError("too_large", `a message on ${subject} ${why}`);
  }
  return payload;
}

/** Null for what is none of ours: every client of the database may notify anything. */
export function decodePayload(payload: string): BusMessage | null {
  const match = /^[0-9a-z]+ ([tb])([^\n]+)\n([^\n]*)\n/.exec(payload);
  if (match === null) return null;
  const [head, kind, subject = "", headersText = ""] = match;
  const headers = readHeaders(headersText);
  if (headers === null) return null;
  const body = payload.slice(head.length);
  return { subject, headers, data: Buffer.from(body, kind === "t" ? "utf8" : "base64") };
}

function readHeaders(text: string): Record<string, string> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // not JSON: not written by encodePayload
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  const headers: Record<string, string> = Object.create(null);
  for (const [name, each] of Object.entries(value)) {
    if (typeof each !== "string") return null;
    headers[name] = each;
  }
  return headers;
}
