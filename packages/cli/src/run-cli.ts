// One run of the command: arguments in, exit code out. Nothing here ends the process, and nothing throws.
//
//   R1. With --json, stdout holds JSON and nothing else, also when the command fails or was not understood.
//   R2. What is said about a failure, and everything on stderr, holds no password and no key.

import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Failure } from "./failure.ts";
import { createProgram, helpFor } from "./program.ts";
import { redact } from "./redact.ts";
import { visibleText } from "./visible-text.ts";

/** What a run may touch of its process. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** stdin up to its end, or up to somewhat more than `bytesMax`. */
  readonly input: (bytesMax: number) => Promise<string>;
  /** Whether a person watches stderr. */
  readonly isWatched: boolean;
  /** Whether stdout is a terminal, which obeys control characters; a pipe gets every text as it is. */
  readonly isOutWatched: boolean;
  /** How wide the terminal behind stderr is; 0 where that is not known. */
  readonly columns?: () => number;
  /** Resolves when this process is asked to stop (Ctrl-C, SIGTERM). Asked a second time, it ends at once. */
  readonly stopped: () => Promise<void>;
}

export async function runCli(args: readonly string[], given: Terminal): Promise<ExitCode> {
  const isJson = args.includes("--json");
  const terminal = { ...given, err: (text: string) => given.err(redact(text)) }; // R2
  let exitCode: ExitCode = EXIT.ok;
  const program = createProgram(terminal, {
    // The parser writes usage errors itself; with --json they are told as JSON below instead (R1).
    writeErr: (text) => (isJson ? undefined : terminal.err(text)),
    onExit: (code) => {
      exitCode = code;
    },
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    const help = helpFor(program, args);
    if (error instanceof CommanderError) return afterParser(error, { isJson, help }, terminal);
    const { describeFailure } = await import("./failure.ts");
    const failure = describeFailure(error, help);
    tellFailure(failure, isJson, terminal);
    return failure.exitCode;
  }
}

/** Help and version end the parser, too; everything else it ends for is a usage error. */
function afterParser(
  error: CommanderError,
  { isJson, help }: { readonly isJson: boolean; readonly help: string },
  terminal: Terminal,
): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  if (isJson) {
    const message = error.code === "commander.help" ? "no command was given" : error.message.replace(/^error: /, "");
    tellFailure({ exitCode: EXIT.usage, code: "usage", message, todo: `See \`${help}\`.` }, isJson, terminal);
  }
  return EXIT.usage;
}

/** R1, R2 */
export function tellFailure(
  { code, message, todo, mistakes = [] }: Failure,
  isJson: boolean,
  terminal: Terminal,
): void {
  if (isJson) {
    const more = mistakes.length === 0 ? {} : { mistakes: mistakes.map(redact) };
    const error = { code, message: redact(message), todo: redact(todo), ...more };
    terminal.out(`${JSON.stringify({ ok: false, error })}\n`);
    return;
  }
  const list = mistakes.length > 1 ? mistakes.map((mistake) => `  ${mistake}\n`).join("") : "";
  terminal.err(visibleText(`tessera: ${message}\n${list}  code        ${code}\n  what to do  ${todo}\n`));
}
