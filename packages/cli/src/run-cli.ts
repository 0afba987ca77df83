// One run of the command: arguments in, exit code out. Nothing here ends the process, and nothing throws.
//
//   R1. With --json, stdout holds JSON and nothing else, also when the command fails or was not understood.
//   R2. What is said about a failure, and everything on stderr, holds no password and no key.

import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Failure } from "./output/failure.ts";
import { gated, labelled, type ProcessTerminal, sentence, type Terminal } from "./output/printing-gate.ts";
import { redact } from "./output/redact.ts";
import { createProgram, helpFor } from "./program.ts";

export async function runCli(args: readonly string[], given: ProcessTerminal): Promise<ExitCode> {
  const isJson = args.includes("--json");
  const terminal = gated(given); // R2
  let exitCode: ExitCode = EXIT.ok;
  const parsing = {
    // The parser writes usage errors itself; with --json they are printed as JSON below instead (R1).
    writeErr: (text: string) => (isJson ? undefined : terminal.err(text)),
    onExit: (code: ExitCode) => {
      exitCode = code;
    },
  };
  const program = await createProgram(terminal, parsing, args);
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    const help = helpFor(program, args);
    if (error instanceof CommanderError) return afterParser(error, { isJson, help }, terminal);
    const { describeFailure } = await import("./output/failure.ts");
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
  const list = mistakes.length > 1 ? mistakes.map((mistake) => ({ line: [`  ${mistake}`], hang: 4 })) : [];
  terminal.err([sentence(`tessera: ${message}`), ...list, labelled("code", code), labelled("what to do", todo)]);
}
