// tessera run: one turn from the command line, with everything it needs in this process (run-here.ts), or on a running
// server (run-remote.ts).
//
//   R1. stdout holds the deliverable and nothing else, so that it can be piped; steps, calls, waits and failures go to
//       stderr. With --json it is the other way round: events and the answer are lines on stdout.
//   R2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart.
//   R3. Ctrl-C ends the wait, not the turn: with a store it is kept, and --resume goes on with it.

import type { Command } from "commander";
import { startedHolder } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readNumber } from "../flags/flag-values.ts";
import { addHostFlags, addServerFlags, type HostFlags } from "../flags/flags.ts";
import { usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { exitCodeOf, openTurn, openTurnsText, tellAnswer } from "../turns/turn-answer.ts";
import { bundleHere, noBundleHere } from "./bundle-here.ts";
import type { Ran } from "./run-here.ts";
import { checkPlace, isRemote } from "./work-place.ts";

export interface RunFlags extends HostFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly input?: string;
  readonly agent?: string;
  readonly instance?: string;
  readonly fresh?: boolean;
  readonly wait: string;
  readonly resume?: boolean;
}

const INPUT_BYTES_MAX = 262_144;
const WAIT_SECONDS_MAX = 86_400;

const RUN_HELP = `
Everything runs in this process. The deliverable is on stdout: text as text,
anything else as JSON. Steps, calls and waits are on stderr. Without --data or
--postgres the store is in memory and thrown away. With --data a run that was
interrupted is finished first; --resume does only that. With --json, stdout has
one event per line and the answer last. With --url the turn is asked for on a
running server, which has its own bundle, and watched from here; so it is where
a process holds the directory and no bundle is found.

Examples:
  $ tessera run ./bundle --input "What is new?"
  $ cat question.txt | tessera run ./bundle --input - --agent reviewer
  $ tessera run ./bundle --input "A long job" --data ./store --wait 3600
  $ tessera run ./bundle --resume --data ./store
  $ tessera run --url http://127.0.0.1:8099 --agent planner --input "What is new?"`;

export function defineRun(command: Command, { terminal, onExit }: ProgramParts): void {
  addServerFlags(addHostFlags(command))
    .argument("[bundle]", "a directory with agents (default: the current one, if it holds any)")
    .option("--input <text>", "the task, or - for stdin")
    .option("--agent <name>", "who gets it (default: the swarm's entry agent)")
    .option("--instance <key>", "which instance of the agent: each remembers its own turns (default: default)")
    .option("--fresh", "begin the instance's conversation anew: it remembers no earlier task")
    .option("--wait <seconds>", "how long to wait for the end", "600")
    .option("--resume", "only finish what an earlier run left open")
    .addHelpText("after", RUN_HELP)
    .action(async (bundle: string | undefined, flags: RunFlags) => onExit(await run(bundle, flags, terminal)));
}

async function run(given: string | undefined, raw: RunFlags, terminal: Terminal): Promise<ExitCode> {
  if ((raw.input === undefined) === (raw.resume !== true)) {
    throw usageError("give the task with --input TEXT, or --resume to finish what was left open, and not both");
  }
  if (raw.resume === true && (raw.agent ?? raw.instance ?? raw.fresh) !== undefined) {
    throw usageError("--resume finishes whatever was left open; --agent, --instance and --fresh go with --input");
  }
  const waitSeconds = readNumber("--wait", raw.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  checkPlace(given, raw);
  const here = given ?? bundleHere();
  const { hostSettings } = await import("../flags/host-settings.ts");
  const { flags, values } = await hostSettings(raw, terminal, { bundle: here });
  const isOnServer = await isRemote(given, flags);
  const input = flags.input === "-" ? await terminal.input(INPUT_BYTES_MAX) : flags.input;
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const { signal } = interrupt;
  const onServer = async () => {
    const { runRemotely } = await import("./run-remote.ts");
    return await runRemotely({ flags, terminal, input: input ?? "", waitSeconds, signal });
  };
  if (isOnServer) return await onServer();
  if (here === undefined) throw noBundleHere();
  const { runHere } = await import("./run-here.ts");
  try {
    const ran = await runHere({ bundle: here, flags, settings: values, terminal, input, waitSeconds, signal });
    return tellRan(ran, { bundle: given, flags, terminal, waitSeconds, isInterrupted: signal.aborted });
  } catch (error) {
    // A process that was just starting has the directory: by now it can be asked.
    if ((await startedHolder(error, flags, terminal)) === null || !(await isRemote(given, flags))) throw error;
    return await onServer();
  }
}

/** R1, R2 */
function tellRan(
  { answers, open, keptIn, isAsked }: Ran,
  about: {
    readonly bundle: string | undefined;
    readonly flags: RunFlags;
    readonly terminal: Terminal;
    readonly waitSeconds: number;
    readonly isInterrupted: boolean;
  },
): ExitCode {
  const { bundle, flags, terminal, waitSeconds, isInterrupted } = about;
  const exitCode =
    open.length > 0 ? EXIT.waiting : (answers.map(exitCodeOf).find((code) => code !== EXIT.ok) ?? EXIT.ok);
  if (flags.json === true) {
    const ok = exitCode === EXIT.ok;
    const asked = isAsked ? {} : { is_asked: false };
    const [first] = open;
    const last = first === undefined ? answers.at(-1) : { ...openTurn(first, open, keptIn !== null), ...asked };
    const nothing = { status: "nothing_left_open", deliverable: null };
    terminal.out(`${JSON.stringify({ ok, ...(last ?? nothing), ...(flags.resume ? { turns: answers } : {}) })}\n`);
    return exitCode;
  }
  for (const answer of answers) tellAnswer(answer, flags, terminal);
  if (open.length > 0) {
    const left = { turnIds: open, isInterrupted, waitSeconds, keptIn, isAsked };
    terminal.err(openTurnsText(left, bundle, flags, terminal));
  } else if (answers.length === 0) terminal.err("tessera: nothing was left open\n");
  return exitCode;
}
