// A process as the terminal of a command: its streams, its environment, its signals.
//
//   T1. The first SIGINT or SIGTERM asks the command to stop. A second one finds no listener and ends the process, as
//       signals do.
//   T2. Readers that go away (`tessera turns ls | head`) are no error. Where the command can be asked to stop, it is: what it
//       holds is given back in order. One that only answers has nobody left to answer, and ends at once.
//   T3. A log that nobody reads any more, or whose disk is full, stops nothing.
//   T4. stdout is the command's alone. What code of a bundle prints there (its config file, an inline tool) goes to stderr:
//       it would spoil a deliverable, and JSON.

import type { Terminal } from "./run-cli.ts";

type Input = AsyncIterable<Buffer>;
type Output = Pick<NodeJS.WriteStream, "write" | "isTTY" | "columns"> & {
  on(event: "error", heard: (error: NodeJS.ErrnoException) => void): unknown;
};

/** What is used of a process. */
export interface ProcessLike {
  readonly env: Terminal["env"];
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  on(signal: "SIGINT" | "SIGTERM", heard: () => void): unknown;
  removeListener(signal: "SIGINT" | "SIGTERM", heard: () => void): unknown;
  exit(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** `end` ends the process of a command that nobody listens to any more (T2). */
export function processTerminal(host: ProcessLike, end: () => void = () => host.exit()): Terminal {
  const { env, stdin, stdout, stderr } = host;
  const write = stdout.write.bind(stdout) as (text: string) => boolean;
  stdout.write = stderr.write.bind(stderr); // T4
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
    err: (text) => void stderr.write(text),
    input: (bytesMax) => readInput(stdin, bytesMax),
    isWatched: stderr.isTTY === true,
    isOutWatched: stdout.isTTY === true,
    columns: () => stderr.columns,
    stopped: () =>
      new Promise((resolve) => {
        const stop = () => {
          for (const signal of SIGNALS) host.removeListener(signal, stop); // T1
          resolve();
        };
        for (const signal of SIGNALS) host.on(signal, stop);
        stops.add(stop);
      }),
  };
}

async function readInput(stdin: Input, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) break; // too much: whoever reads it says so
  }
  return Buffer.concat(chunks).toString("utf8");
}
