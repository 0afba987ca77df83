// What a command printed: the beginning and the end, however much it was.
//
//   O1. At most `bytesMax` bytes are kept: half from the beginning, where the first error is, half from the end, where the
//       last one is. What was left out is said in between.
//   O2. Terminal sequences are removed and other control characters become U+FFFD, so that a card stays within three times
//       these bytes.

import { stripVTControlCharacters } from "node:util";
import { boundaryAfter, boundaryBefore, readableText } from "./readable-text.ts";

/** All but tab and the line ends. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced (O2)
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export interface OutputCapture {
  add(chunk: Buffer): void;
  /** Bytes seen, kept or not. */
  readonly bytes: number;
  readonly isTruncated: boolean;
  text(): string;
}

export function captureOutput(bytesMax: number): OutputCapture {
  const half = Math.floor(bytesMax / 2);
  let head = Buffer.alloc(0);
  let tail: Buffer[] = [];
  let tailBytes = 0;
  let bytes = 0;
  return {
    add(chunk) {
      bytes += chunk.length;
      const forHead = chunk.subarray(0, half - head.length);
      if (forHead.length > 0) head = Buffer.concat([head, forHead]);
      const rest = chunk.subarray(forHead.length);
      if (rest.length === 0) return;
      tail.push(rest);
      tailBytes += rest.length;
      // Joined now and then, not at every chunk: a command may print single bytes.
      if (tailBytes > 2 * half || tail.length > 1_024) {
        tail = [lastBytes(tail, half)];
        tailBytes = tail[0]?.length ?? 0;
      }
    },
    get bytes() {
      return bytes;
    },
    get isTruncated() {
      return bytes > 2 * half;
    },
    text() {
      const end = lastBytes(tail, half);
      if (bytes <= 2 * half) return clean(Buffer.concat([head, end]));
      const first = head.subarray(0, boundaryBefore(head, head.length));
      const last = end.subarray(boundaryAfter(end, 0));
      const leftOut = bytes - first.length - last.length;
      return `${clean(first)}\n... (${leftOut} bytes left out) ...\n${clean(last)}`; // O1
    },
  };
}

function lastBytes(chunks: readonly Buffer[], count: number): Buffer {
  const joined = Buffer.concat(chunks);
  return Buffer.from(joined.subarray(Math.max(0, joined.length - count)));
}

function clean(bytes: Buffer): string {
  return stripVTControlCharacters(readableText(bytes)).replace(CONTROL, "\ufffd");
}
