// Secrets in what is printed. A URL may reach an error message by many ways (a driver, the argument parser, a mistyped
// command), so everything printed about a failure passes through here.

/** API keys, the password of any URL, up to its last `@`, and passwords given as URL parameters. */
export function redact(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:@/]*):[^\s]*@/gi, "$1:***@")
    .replace(/([?&](?:password|sslpassword|token)=)[^\s&]*/gi, "$1***")
    .replace(/\b(ts[kl]_)[A-Za-z0-9_.-]+/g, "$1***");
}
