// One run of the command: arguments in, exit code out. Nothing here ends the process, and nothing throws.

import { CommanderError } from "commander";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { describeFailure, type Failure } from "./failure.ts";
import { createProgram } from "./program.ts";
import { redact } from "./redact.ts";

/** What a run may touch of its process. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Resolves when this process is asked to stop (Ctrl-C, SIGTERM). */
  readonly stopped: () => Promise<void>;
}

export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const isJson = args.includes("--json");
  let exitCode: ExitCode = EXIT.ok;
  // The parser writes usage errors itself; with --json they are told as JSON below instead.
  const err = (text: string) => (isJson ? undefined : terminal.err(redact(text)));
  const program = createProgram({ ...terminal, err }, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return afterParser(error, isJson, terminal);
    const failure = describeFailure(error);
    tell(failure, isJson, terminal);
    return failure.exitCode;
  }
}

/** Help and version end the parser, too; everything else it ends for is a usage error. */
function afterParser(error: CommanderError, isJson: boolean, terminal: Terminal): ExitCode {
  if (error.exitCode === 0) return EXIT.ok;
  if (isJson) {
    const message = error.code === "commander.help" ? "no command was given" : error.message.replace(/^error: /, "");
    tell({ exitCode: EXIT.usage, code: "usage", message, todo: "See `tessera --help`." }, isJson, terminal);
  }
  return EXIT.usage;
}

function tell({ code, message, todo }: Failure, isJson: boolean, terminal: Terminal): void {
  const said = { code, message: redact(message), todo };
  if (isJson) terminal.out(`${JSON.stringify({ ok: false, error: said })}\n`);
  else terminal.err(`tessera: ${said.message}\n  code        ${code}\n  what to do  ${todo}\n`);
}
