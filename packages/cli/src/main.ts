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
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
      }),
  });
}
