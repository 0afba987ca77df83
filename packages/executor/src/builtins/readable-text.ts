// Bytes from outside (a file, a response, a command) as text that a card can hold.
//
//   T1. A cut never splits a character: what would be half of one at the end is left out.
//   T2. Bytes that are not UTF-8, and NUL, which no card can hold, become U+FFFD. Binary data is therefore recognisable and
//       harmless, and not recoverable: a tool that needs the bytes works on the file.

const REPLACEMENT = "\ufffd";

/** At most `bytesMax` bytes of `bytes` as text. */
export function readableText(bytes: Uint8Array, bytesMax = bytes.length): string {
  const cut = bytes.length > bytesMax ? bytes.subarray(0, boundaryBefore(bytes, bytesMax)) : bytes; // T1
  return Buffer.from(cut.buffer, cut.byteOffset, cut.length).toString("utf8").replaceAll("\0", REPLACEMENT); // T2
}

/** The start of the character that `index` is in the middle of, or `index` where it is in none. */
export function boundaryBefore(bytes: Uint8Array, index: number): number {
  for (let back = 0; back <= 3 && index - back > 0; back++) {
    if (!isContinuation(bytes[index - back])) return index - back;
  }
  return index; // not UTF-8
}

/** The first index from `index` on at which a character starts. */
export function boundaryAfter(bytes: Uint8Array, index: number): number {
  for (let ahead = 0; ahead <= 3; ahead++) {
    if (!isContinuation(bytes[index + ahead])) return index + ahead;
  }
  return index; // not UTF-8
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
