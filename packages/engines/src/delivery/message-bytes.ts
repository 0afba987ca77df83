// How many bytes a message has, in the sense of `BusCapabilities.messageBytesMax`: data plus header names and values.

import type { BusMessage } from "@tessera/kernel/ports";
import { BusError } from "@tessera/kernel/ports";

/** A UTF-16 unit never takes more than three bytes of UTF-8. */
const BYTES_PER_UNIT_MAX = 3;

function messageBytes({ data, headers }: BusMessage): number {
  let bytes = data.byteLength;
  for (const name in headers) bytes += Buffer.byteLength(name) + Buffer.byteLength(headers[name] ?? "");
  return bytes;
}

/** Throws `too_large`. Nearly every message is far below the limit, so its characters are counted before its bytes. */
export function assertMessageFits(message: BusMessage, bytesMax: number): void {
  let units = 0;
  for (const name in message.headers) units += name.length + (message.headers[name] ?? "").length;
  if (message.data.byteLength + units * BYTES_PER_UNIT_MAX <= bytesMax) return;
  const bytes = messageBytes(message);
  if (bytes > bytesMax) {
    throw new BusError("too_large", `a message on ${message.subject} has ${bytes} bytes; ${bytesMax} are allowed`);
  }
}
