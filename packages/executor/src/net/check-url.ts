// Which URLs a tool may ask for, judged by their text. What a name resolves to is judged when it is dialed
// (guarded-agent.ts); both are needed, since a name on no list can still point inside.
//
//   U1. https on port 443. http on port 80 only where the operator opted in; no other scheme or port at all.
//   U2. `URL.hostname` is what is judged, never the text: the parser turns `2130706433`, `0x7f.1`, `0177.0.0.1`,
//       fullwidth digits and ideographic dots into the address they mean, and that is what would be dialed.
//   U3. No credentials in a URL: they end up in logs.
//   U4. Names that only mean something inside a network are refused, with or without a trailing dot.
//   U5. `hosts` is the operator's. Its default is "public", any host on the public internet, because a fetch tool that
//       fetches nothing teaches a new user to switch the guard off, and the guard is what keeps the network's inside
//       safe. Where a model reads secrets, an operator lists the hosts; a list narrows and never opens a private one.

import { isIP } from "node:net";
import { PolicyDenied } from "@tessera/protocol";
import { isPublicAddress } from "./public-address.ts";
import { withoutTrailing } from "./without-trailing.ts";

export interface UrlPolicy {
  /** `example.com` means this host, `*.example.com` every host below it. */
  readonly hosts: readonly string[] | "public";
  /** Also http on port 80. */
  readonly allowHttp: boolean;
}

export const URL_POLICY_DEFAULT: UrlPolicy = { hosts: "public", allowHttp: false };

const URL_CHARS_MAX = 8_192;
const INSIDE_SUFFIXES = [
  "localhost",
  "local",
  "localdomain",
  "internal",
  "intranet",
  "lan",
  "home",
  "corp",
  "private",
  "svc",
  "arpa",
  "onion",
  "invalid",
];
/** Public-looking names of metadata services. */
const INSIDE_HOSTS: ReadonlySet<string> = new Set(["metadata.goog"]);

/** Text from a model as a URL. The parser would silently drop tabs and line breaks and turn `\` into `/`. */
export function parseUrl(text: string): URL {
  if (text.length > URL_CHARS_MAX) throw refused(`it is longer than ${URL_CHARS_MAX} characters`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(text)) throw refused("it holds blanks, control characters or backslashes");
  if (!URL.canParse(text)) throw refused("it is not an absolute URL");
  return new URL(text);
}

/** Throws `url_not_allowed` unless the policy lets a tool ask for this URL. */
export function checkUrl(url: URL, policy: UrlPolicy): void {
  const scheme = url.protocol;
  if (scheme !== "https:" && !(scheme === "http:" && policy.allowHttp)) {
    throw refused(
      `its scheme is ${scheme.slice(0, 20)} and only ${policy.allowHttp ? "https: and http: are" : "https: is"} allowed`,
    );
  }
  if (url.port !== "") throw refused(`its port is ${url.port} and only the scheme's own is allowed`); // U1: the parser drops 443 and 80
  if (url.username !== "" || url.password !== "") throw refused("it holds credentials"); // U3
  const host = hostOf(url);
  const address = host.startsWith("[") ? host.slice(1, -1) : host;
  if (isIP(address) !== 0) {
    if (!isPublicAddress(address)) throw refused("its address is not a public one"); // U2
  } else if (isInside(host)) {
    throw refused("its host is not a public name"); // U4
  }
  if (policy.hosts !== "public" && !policy.hosts.some((allowed) => matches(host, allowed))) {
    throw refused("its host is not on the list of allowed hosts"); // U5
  }
}

function hostOf(url: URL): string {
  return withoutTrailing(url.hostname.toLowerCase(), ".");
}

function isInside(host: string): boolean {
  const labels = host.split(".");
  const last = labels.at(-1) ?? "";
  return labels.length < 2 || labels.includes("") || INSIDE_SUFFIXES.includes(last) || INSIDE_HOSTS.has(host);
}

function matches(host: string, allowed: string): boolean {
  const wanted = allowed.toLowerCase();
  return wanted.startsWith("*.") ? host.endsWith(wanted.slice(1)) : host === wanted;
}

function refused(why: string): PolicyDenied {
  return new PolicyDenied(`the URL cannot be used: ${why}`, { code: "url_not_allowed" });
}
