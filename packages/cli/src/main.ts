// The process around the command: its arguments, streams and environment in, its exit code out.

import { runCli } from "./run-cli.ts";

export async function main(): Promise<void> {
  // A reader that went away (`tessera verify | head`) is no error of ours.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  process.exitCode = await runCli(process.argv.slice(2), {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
    input: readInput,
    isWatched: process.stderr.isTTY === true,
    isOutWatched: process.stdout.isTTY === true,
    columns: () => process.stderr.columns,
    stopped,
  });
}

/** Once for each signal: the second one finds no listener and ends the process as signals do. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    const onSignal = () => {
      for (const signal of ["SIGINT", "SIGTERM"] as const) process.removeListener(signal, onSignal);
      resolve();
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
  });
}

async function readInput(bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > bytesMax) break; // too much: whoever reads it says so
  }
  return Buffer.concat(chunks).toString("utf8");
}
