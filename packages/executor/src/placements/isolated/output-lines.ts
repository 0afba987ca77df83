// Cuts what a child prints into lines for its call's log.
//
//   O1. A line is at most LINE_CHARS_MAX long; the rest of a longer one is dropped and the marker says so. It is not
//       continued in a next entry, where half a secret would no longer be recognised.

import { StringDecoder } from "node:string_decoder";
import { TRUNCATION_MARKER } from "@tessera/protocol";

export const LINE_CHARS_MAX = 8_192;

export interface OutputLines {
  push(chunk: Buffer): void;
  /** What stands in an unfinished line is a line too. */
  end(): void;
}

export function createOutputLines(onLine: (line: string) => void): OutputLines {
  const decoder = new StringDecoder("utf8");
  let line = "";
  let isCut = false;
  const finish = () => {
    const text = line.endsWith("\r") ? line.slice(0, -1) : line;
    if (text !== "") onLine(isCut ? text + TRUNCATION_MARKER : text);
    line = "";
    isCut = false;
  };
  const extend = (text: string) => {
    const room = LINE_CHARS_MAX - line.length;
    if (text.length > room) isCut = true; // O1
    line += text.slice(0, room);
  };
  const take = (text: string) => {
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      extend(text.slice(from, end));
      finish();
      from = end + 1;
    }
    extend(text.slice(from));
  };
  return {
    push: (chunk) => take(decoder.write(chunk)),
    end: () => {
      take(decoder.end());
      finish();
    },
  };
}
