// A process as the terminal of a command: its streams, its environment, its signals.
//
//   T1. The first SIGINT or SIGTERM asks the command to stop. A second one finds no listener and ends the process, as
//       signals do. Ctrl-C reaches every process of a terminal, and npm or another Node before this one passes it on: what comes
//       within DOUBLED_MS is the same signal twice.
//   T2. Readers that go away (`tessera turns ls | head`) are no error. Where the command can be asked to stop, it is: what it
//       holds is given back in order. One that only answers has no reader left, and ends at once.
//   T3. A log that has no reader any more, or whose disk is full, stops nothing.
//   T4. stdout is the command's alone. What code of a bundle prints there (its config file, an inline tool) goes to stderr:
//       it would spoil a deliverable, and JSON. It goes through the gate, too, except for plain colours: code may print what a
//       stranger sent it, and `console` colours numbers.

import { StringDecoder } from "node:string_decoder";
import { type ProcessTerminal, printed } from "./printing-gate.ts";

type Input = AsyncIterable<Buffer> & {
  readonly isTTY?: boolean;
  on?(event: "data" | "end", heard: (chunk: Buffer) => void): unknown;
  removeListener?(event: "data" | "end", heard: (chunk: Buffer) => void): unknown;
  pause?(): unknown;
};
interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(chunk: string | Uint8Array, ...more: readonly unknown[]): boolean;
  on(event: "error", heard: (error: NodeJS.ErrnoException) => void): unknown;
}

/** What is used of a process. */
interface ProcessLike {
  readonly env: ProcessTerminal["env"];
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  on(signal: "SIGINT" | "SIGTERM", heard: () => void): unknown;
  removeListener(signal: "SIGINT" | "SIGTERM", heard: () => void): unknown;
  exit(): void;
}

/** Text in a colour, bold or faint. Nothing that hides them, or moves. */
const COLOUR = "(?:[0-4]|2[2-4]|3[0-79]|9[0-7])";
const PLAIN_COLOURS = new RegExp(`(\\u001b\\[(?:${COLOUR}(?:;${COLOUR})*)?m)`);
const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Less than between two strokes of a key. */
const DOUBLED_MS = 150;
/** A longer line comes in parts. */
const LINE_CHARS_MAX = 262_144;

/** `end` ends the process of a command whose output has no reader any more (T2). */
export function processTerminal(host: ProcessLike, end: () => void = () => host.exit()): ProcessTerminal {
  const { env, stdin, stdout, stderr } = host;
  const write: Output["write"] = stdout.write.bind(stdout);
  const writeErr: Output["write"] = stderr.write.bind(stderr);
  stdout.write = strayWriter(writeErr); // T4
  stderr.write = strayWriter(writeErr);
  const stops = new Set<() => void>();
  let isOutGone = false;
  host.stdout.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
    isOutGone = true;
    if (stops.size === 0) end(); // T2
    for (const stop of stops) stop();
  });
  host.stderr.on("error", () => {}); // T3
  return {
    env,
    out: (text) => void (isOutGone || write(text)),
    err: (text) => void writeErr(text),
    input: (bytesMax) => readInput(stdin, bytesMax),
    lines: (heard) => hearLines(stdin, heard),
    interrupts: (heard) => hearInterrupts(host, heard),
    isInputWatched: stdin.isTTY === true,
    isWatched: stderr.isTTY === true,
    isOutWatched: stdout.isTTY === true,
    columns: (stream) => (stream === "out" ? stdout : stderr).columns,
    stopped: () =>
      new Promise((resolve) => {
        const stop = () => {
          // T1. The timer of a signal keeps no process.
          AbortSignal.timeout(DOUBLED_MS).addEventListener("abort", () => {
            for (const signal of SIGNALS) host.removeListener(signal, stop);
          });
          resolve();
        };
        for (const signal of SIGNALS) host.on(signal, stop);
        stops.add(stop);
      }),
  };
}

/** T4 */
function strayWriter(write: Output["write"]): Output["write"] {
  const decoder = new StringDecoder("utf8"); // a character may lie in two chunks
  return (chunk, ...more) => {
    const text = typeof chunk === "string" ? chunk : decoder.write(chunk as Buffer);
    const parts = text.split(PLAIN_COLOURS).map((part, n) => (n % 2 === 1 ? part : printed(part)));
    return write(parts.join(""), ...more);
  };
}

function hearLines(stdin: Input, heard: (line: string | null) => void): () => void {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  const onData = (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) heard(line.replace(/\r$/, ""));
    if (rest.length <= LINE_CHARS_MAX) return;
    heard(rest);
    rest = "";
  };
  const onEnd = () => {
    if (rest !== "") heard(rest);
    heard(null);
  };
  stdin.on?.("data", onData);
  stdin.on?.("end", onEnd);
  return () => {
    stdin.removeListener?.("data", onData);
    stdin.removeListener?.("end", onEnd);
    stdin.pause?.();
  };
}

/** T1: what comes within DOUBLED_MS is the same Ctrl-C twice. */
function hearInterrupts(host: Pick<ProcessLike, "on" | "removeListener">, heard: () => void): () => void {
  let isDoubled = false;
  const onSignal = () => {
    if (isDoubled) return;
    isDoubled = true;
    AbortSignal.timeout(DOUBLED_MS).addEventListener("abort", () => {
      isDoubled = false;
    });
    heard();
  };
  for (const signal of SIGNALS) host.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) host.removeListener(signal, onSignal);
  };
}

async function readInput(stdin: Input, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) break; // too much: the parser of the input reports it
  }
  return Buffer.concat(chunks).toString("utf8");
}
