// Where the API is, and what proves who asks. Both are checked before anything is sent, because what fetch says about a wrong
// one is either hard to understand or holds the key itself.

import { ApiError } from "./api-error.ts";

/** Without a slash at its end; a path before the API's own is kept: `https://example.org/tessera`. */
export function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const hint = /^[\w.-]+(:\d+)?(\/|$)/.test(text) ? `; did you mean http://${text.replace(/\/+$/, "")}?` : "";
    throw mistake(`the URL of the API must start with http:// or https://${hint}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw mistake("the URL of the API must not hold a user or a password; give the key as apiKey");
  }
  if (url.search !== "" || url.hash !== "") throw mistake("the URL of the API must not have a query or a fragment");
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** What a header can carry. The text is never repeated. */
export function readApiKey(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,1000}$/.test(key)) return key;
  throw mistake("apiKey is empty or holds characters that a key cannot have (a space, a line break?)");
}

export function mistake(message: string): ApiError {
  return new ApiError(message, { status: 0, code: "bad_request" });
}
