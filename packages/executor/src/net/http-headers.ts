// Headers of a tool's HTTP request and of its answer.
//
//   N1. A value cannot start another header: control characters are refused, not stripped.
//   N2. What belongs to the connection or to a proxy is not the caller's: with `host` or `transfer-encoding` one request
//       can be read as two, or by another site.
//   N3. No message holds a value.

import { BadRequest, HTTP_HEADERS_BYTES_MAX } from "@tessera/protocol";

const HEADERS_MAX = 64;
const NAME_CHARS_MAX = 128;

/** All that follows a redirect to another origin: nothing here can be a credential. */
export const FOLLOWING_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-language",
  "content-type",
  "traceparent",
  "user-agent",
]);

const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "forwarded",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "x-real-ip",
]);
const CONNECTION_PREFIXES = ["proxy-", "x-forwarded-", ":"];

const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// Tab, and everything visible in Latin-1 (RFC 9110 §5.5).
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The headers with names in lower case, or `bad_request`. */
export function checkRequestHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const checked: Record<string, string> = Object.create(null);
  const entries = Object.entries(headers);
  if (entries.length > HEADERS_MAX) throw new BadRequest(`there are more than ${HEADERS_MAX} headers`);
  let bytes = 0;
  for (const [given, value] of entries) {
    const name = given.toLowerCase();
    if (given.length > NAME_CHARS_MAX || !TOKEN.test(given)) {
      throw new BadRequest(`${JSON.stringify(given.slice(0, NAME_CHARS_MAX))} is not a header name`);
    }
    if (CONNECTION_HEADERS.has(name) || CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))) {
      throw new BadRequest(`the header ${name} belongs to the connection and cannot be set`); // N2
    }
    if (name in checked) throw new BadRequest(`the header ${name} is given twice`);
    if (!VALUE.test(value)) throw new BadRequest(`the value of the header ${name} holds characters that no header may`); // N1, N3
    bytes += name.length + value.length;
    checked[name] = value.trim();
  }
  if (bytes > HTTP_HEADERS_BYTES_MAX) throw new BadRequest(`the headers exceed ${HTTP_HEADERS_BYTES_MAX} bytes`);
  return checked;
}

/** Every value as one string. `__proto__` is dropped: no JSON gate lets it through. */
export function flattenHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || name === "__proto__") continue;
    flat[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return flat;
}
