// Building a request's URL from parts of different trust: the origin and path come from a tool's definition, the values
// from a model.
//
//   U1. A value fills its place and no other: everything but RFC 3986's unreserved characters is percent-encoded.
//   U2. A path value is one segment or a part of one. A separator, a dot segment, a control character, or an escape of one
//       is refused rather than encoded, since proxies and servers decode once more than they should.
//   U3. What the URL parser made is compared with what was meant: if it moved anything, nothing is sent.

import { BadRequest } from "@tessera/protocol";
import { withoutTrailing } from "../net/without-trailing.ts";

const URL_CHARS_MAX = 8_192;
const PATH_VALUE_CHARS_MAX = 2_048;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const SEPARATORS = /[/\\\u0000-\u001f\u007f]|%(?:2e|2f|5c|[01][0-9a-f]|7f)/i;

/** Completely percent-encoded (U1): what remains of `-_.!~*'()` in encodeURIComponent is cut down to the unreserved. */
export function percentEncode(text: string): string {
  return encodeURIComponent(text.toWellFormed()).replace(
    /[!'()*]/g,
    (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Whether a text, decoded once, could be more than one segment to a server that decodes once more (U2). */
export function holdsSeparator(text: string): boolean {
  return SEPARATORS.test(text);
}

/** One value for a path (U2). */
export function encodePathValue(name: string, text: string): string {
  const isDots = text === "." || text === "..";
  if (text === "" || isDots || text.length > PATH_VALUE_CHARS_MAX || holdsSeparator(text)) {
    throw new BadRequest(
      `the argument ${name} goes into a path: it must not be empty, a dot segment, too long, or hold a separator or a control character`,
      { details: { argument: name } },
    );
  }
  return percentEncode(text);
}

/** The fixed text of a path, as the definition's author wrote it. */
export function encodePathText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  if (/[?#\\\u0000-\u001f\u007f]/.test(text)) {
    throw new BadRequest("a path of the definition holds `?`, `#`, `\\` or a control character");
  }
  return text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/gu, percentEncode);
}

/** A base URL of a definition: https, no credentials, no query. Its path, if any, goes before every path. */
export function readBaseUrl(text: unknown, field: string): URL {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw new BadRequest(`${field} must be an absolute URL`, { details: { field } });
  if (url.protocol !== "https:") throw new BadRequest(`${field} must be an https URL`, { details: { field } });
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new BadRequest(`${field} must hold no credentials, query or fragment`, { details: { field } });
  }
  return url;
}

/** `path` and the pairs of `query` are encoded already. */
export function assembleUrl(base: URL, path: string, query: readonly string[]): URL {
  const pathname = withoutTrailing(base.pathname, "/") + (path.startsWith("/") ? path : `/${path}`);
  const search = query.length === 0 ? "" : `?${query.join("&")}`;
  const href = base.origin + pathname + search;
  if (href.length > URL_CHARS_MAX)
    throw new BadRequest(`the arguments make a URL of more than ${URL_CHARS_MAX} characters`);
  const url = new URL(href);
  if (url.origin !== base.origin || url.pathname !== pathname || url.search !== search || url.hash !== "") {
    throw new BadRequest("the arguments lead out of the path of the operation"); // U3
  }
  return url;
}
