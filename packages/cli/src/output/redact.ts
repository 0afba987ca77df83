// Secrets in what is printed. A URL may reach an error message by many ways (a driver, the argument parser, a mistyped
// command), so everything printed about a failure passes through here.

/** Longer than any scheme; what goes before it is kept anyhow. */
const PASSWORD_URL = /[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:@/]*:/i;

/** API keys, the password of any URL, up to its last `@`, and passwords given as URL parameters. In linear time: a log has what
 *  strangers wrote. */
export function redact(text: string): string {
  return text
    .replace(/\S+/g, withoutPassword)
    .replace(/([?&](?:password|sslpassword|token)=)[^\s&]*/gi, "$1***")
    .replace(/\b(ts[kl]_)[A-Za-z0-9_.-]+/g, "$1***");
}

function withoutPassword(word: string): string {
  const end = word.lastIndexOf("@");
  const found = end === -1 ? null : PASSWORD_URL.exec(word.slice(0, end));
  return found === null ? word : `${word.slice(0, found.index + found[0].length)}***${word.slice(end)}`;
}
