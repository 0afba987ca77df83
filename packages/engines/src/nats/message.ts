// A message between the port and the wire.
//
//   E1. Header names keep their casing. A value that holds line feeds is sent as a repeated header, and a repeated
//       header arrives joined by line feeds: one rule, both ways.
//   E2. Size is counted as the server counts it, encoded headers plus data, before anything is sent.
//
//   E3. Headers are read from the block as it came, which the library keeps but does not show: a version of it that no
//       longer does is read through its own map.
//
// Headers are encoded in one pass here, 0.9 µs for nine of them, where building the library's map took 4 µs; sixteen are
// decoded in 1.9 µs where the library's map, and ours made of it, took 9.2 µs.

import { type Msg, type MsgHdrs, MsgHdrsImpl } from "@nats-io/transport-node";
import type { BusHeaders, BusMessage } from "@tessera/kernel/ports";
import { BusError } from "@tessera/kernel/ports";
import { HEADERS } from "@tessera/protocol";

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const LINE_END = "\r\n";
// A carriage return would end the header's line; a NUL is refused by servers.
const ILLEGAL_IN_VALUE = /[\r\0]/;

/** Headers that are encoded already. */
class EncodedHeaders extends MsgHdrsImpl {
  readonly #block: Uint8Array;
  constructor(block: Uint8Array) {
    super();
    this.#block = block;
  }
  override encode(): Uint8Array {
    return this.#block;
  }
}

export interface EncodedMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly publishOptions: { readonly headers?: MsgHdrs };
  readonly bytes: number;
}

/** Throws `refused` for headers that cannot be sent. */
export function encodeMessage({ subject, headers, data }: BusMessage, storeId?: string): EncodedMessage {
  let text = storeId === undefined ? "" : `${HEADERS.store_id}: ${storeId}\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!NAME.test(name) || ILLEGAL_IN_VALUE.test(value)) {
      throw new BusError("refused", `the header ${JSON.stringify(name)} on ${subject} cannot be sent`);
    }
    if (!value.includes("\n")) text += `${name}: ${value}\r\n`;
    else for (const line of value.split("\n")) text += `${name}: ${line}\r\n`; // E1
  }
  if (text === "") return { subject, data, publishOptions: {}, bytes: data.byteLength };
  const block = Buffer.from(`NATS/1.0\r\n${text}\r\n`);
  const bytes = data.byteLength + block.byteLength; // E2
  return { subject, data, publishOptions: { headers: new EncodedHeaders(block) }, bytes };
}

export function decodeMessage(msg: Msg): BusMessage {
  return { subject: msg.subject, headers: headersOf(msg), data: msg.data };
}

/** E3 */
export function headersOf(msg: Msg): BusHeaders {
  const { _rdata, _msg } = msg as Msg & { _rdata?: unknown; _msg?: { hdr?: unknown } };
  const bytes = _msg?.hdr;
  if (!(_rdata instanceof Uint8Array) || typeof bytes !== "number") return decodeHeaders(msg.headers);
  return bytes < 0 ? Object.create(null) : readHeaders(_rdata.subarray(0, bytes));
}

export function readHeaders(block: Uint8Array): BusHeaders {
  const headers: Record<string, string> = Object.create(null);
  const text = Buffer.from(block.buffer, block.byteOffset, block.byteLength).toString();
  let at = text.indexOf(LINE_END);
  while (at >= 0) {
    const start = at + LINE_END.length;
    at = text.indexOf(LINE_END, start);
    const line = text.slice(start, at < 0 ? undefined : at);
    const colon = line.indexOf(":");
    if (colon < 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).trim();
    const earlier = headers[name];
    headers[name] = earlier === undefined ? value : `${earlier}\n${value}`; // E1
  }
  return headers;
}

export function decodeHeaders(block: MsgHdrs | undefined): BusHeaders {
  const headers: Record<string, string> = Object.create(null);
  if (block !== undefined) for (const name of block.keys()) headers[name] = block.values(name).join("\n");
  return headers;
}
