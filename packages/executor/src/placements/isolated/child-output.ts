// What an isolated child writes, to its host's pipe and to stdout and stderr: synchronously, all of it.
//
// Node's own process.stdout keeps what a pipe does not take at once in memory. A tool that prints a gigabyte would hold it
// all, and what it printed before `process.exit` would be lost.

import { writeSync } from "node:fs";
import { Writable } from "node:stream";

/** Waits while the pipe is full; ends the process group when the pipe has no reader any more. */
export function writeAll(fd: number, data: Uint8Array): void {
  let rest = data;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") process.kill(0, "SIGKILL");
    }
  }
}

/** Replaces process.stdout and process.stderr, and with them what `console` prints to, before their first use. */
export function writeOutputSynchronously(): void {
  for (const [name, fd] of [
    ["stdout", 1],
    ["stderr", 2],
  ] as const) {
    const stream = new Writable({
      decodeStrings: true,
      write(chunk: Buffer, _encoding, done) {
        writeAll(fd, chunk);
        done();
      },
    });
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      value: Object.assign(stream, { fd }),
    });
  }
}
