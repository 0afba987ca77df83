// The process around the command: its arguments, streams and environment in, its exit code out.
//
//   M1. Code of a bundle runs in this process: its config file, inline tools. If it ends the process, or waits for something
//       that never comes, the command failed, and says so.
//   M2. Once the command is done, everything of ours is closed. What a library or code of a bundle left open (a socket
//       without an answer, a timer) does not keep the process.

import { endWithLauncher } from "./connect/launcher-watch.ts";
import { EXIT } from "./exit-codes.ts";
import { gated } from "./output/printing-gate.ts";
import { processTerminal } from "./output/process-terminal.ts";
import { runCli, tellFailure } from "./run-cli.ts";

/** Node's own, for a process in which nothing is left to happen although something is awaited. */
const NEVER_SETTLED = 13;
const LEFT_OPEN_MS_MAX = 2_000;

export async function main(): Promise<void> {
  endWithLauncher();
  const args = process.argv.slice(2);
  const terminal = processTerminal(process, () => {
    process.removeListener("exit", onEarlyExit);
    process.exit();
  });
  function onEarlyExit(code: number): void {
    if (code !== EXIT.ok && code !== NEVER_SETTLED) return;
    const message = "the process ended before the command was done";
    const todo = "Look for process.exit, or an await that never ends, in code of the bundle.";
    tellFailure(
      { exitCode: EXIT.failure, code: "internal_error", message, todo },
      args.includes("--json"),
      gated(terminal),
    );
    process.exitCode = EXIT.failure; // M1
  }
  process.on("exit", onEarlyExit);
  const exitCode = await runCli(args, terminal);
  process.removeListener("exit", onEarlyExit);
  process.exitCode = exitCode;
  // The timer of a signal keeps no process: where nothing is left open, it never fires (M2).
  AbortSignal.timeout(LEFT_OPEN_MS_MAX).addEventListener("abort", () => process.exit());
}
