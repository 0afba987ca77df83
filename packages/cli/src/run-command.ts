// tessera run: one turn from the command line, with everything it needs in this process.
//
//   R1. stdout holds the deliverable and nothing else, so that it can be piped; steps, calls, waits and failures go to
//       stderr. With --json it is the other way round: events and the answer are lines on stdout.
//   R2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart.
//   R3. What an earlier run left open in a directory is finished first, because a turn that is asked for now would wait for
//       it anyway, and nobody else is there to do it. In PostgreSQL others may be at it: there only --resume waits for it.
//   R4. Ctrl-C ends the wait, not the turn: with a store it is kept, and --resume goes on with it.

import { agentPorts, type Node } from "@tessera/runtime";
import { bundleHere } from "./bundle-here.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { errorWithTodo, usageError } from "./failure.ts";
import { readNumber } from "./flag-values.ts";
import type { HostFlags } from "./flags.ts";
import { type OpenRoles, openRoles } from "./open-roles.ts";
import { ROLES } from "./roles.ts";
import type { Terminal } from "./run-cli.ts";
import { warnings } from "./store-flags.ts";
import { deliverableText, exitCodeOf, failureText, openTurnsText } from "./turn-answer.ts";
import { visibleText } from "./visible-text.ts";
import { createWatch, type WatchedTurns } from "./watch-turns.ts";
import { hostOptions, withNode } from "./with-node.ts";

export interface RunFlags extends HostFlags {
  readonly input?: string;
  readonly agent?: string;
  readonly instance?: string;
  readonly wait: string;
  readonly resume?: boolean;
}

const INPUT_BYTES_MAX = 262_144;
const WAIT_SECONDS_MAX = 86_400;
const CLOSE_GRACE_MS = 1_000;
const LEFT_OPEN_MAX = 1_000;

interface Ran extends WatchedTurns {
  /** Null: the store was in memory. */
  readonly keptIn: string | null;
}

export async function runCommand(given: string | undefined, flags: RunFlags, terminal: Terminal): Promise<ExitCode> {
  if ((flags.input === undefined) === (flags.resume !== true)) {
    throw usageError("give the task with --input TEXT, or --resume to finish what was left open, and not both");
  }
  if (flags.resume === true && (flags.agent ?? flags.instance) !== undefined) {
    throw usageError("--resume finishes whatever was left open; --agent and --instance go with --input");
  }
  const waitSeconds = readNumber("--wait", flags.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  const input = flags.input === "-" ? await terminal.input(INPUT_BYTES_MAX) : flags.input;
  const bundle = given ?? bundleHere();
  if (bundle === undefined) {
    const todo = "Name a directory with a tessera.yaml, goondan.yaml or tessera.config.ts.";
    throw errorWithTodo("E_CONFIG_ENTRY_NOT_FOUND", "there is no bundle in this directory", todo, EXIT.configuration);
  }
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const store = flags.resume === true ? { migrate: "check" as const } : { throwAway: true };
  const ran = await withNode(flags, terminal, store, (node) =>
    runTurns({ node, bundle, flags, terminal, input, waitSeconds, signal: interrupt.signal }),
  );
  return tellRan(ran, { bundle: given, flags, terminal, waitSeconds, isInterrupted: interrupt.signal.aborted });
}

async function runTurns(run: {
  readonly node: Node;
  readonly bundle: string;
  readonly flags: RunFlags;
  readonly terminal: Terminal;
  readonly input: string | undefined;
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}): Promise<Ran> {
  const { node, bundle, flags, terminal, input, waitSeconds, signal } = run;
  const { place } = node.store;
  const keptIn = place.kind === "memory" ? null : place.name;
  // Before anybody works: what was left open may end at once.
  const left = place.kind === "directory" || input === undefined ? await leftOpen(node, flags.project) : []; // R3
  const onWarning = warnings(flags, terminal);
  const roles = await openRoles({
    node,
    roles: new Set(ROLES),
    host: hostOptions(flags, terminal, bundle),
    onLog: ({ level, message }) => say(flags, terminal, `${level.padEnd(5)} ${message}`),
    onWarning,
  });
  try {
    const until = node.clock.monotonicMs() + waitSeconds * 1_000;
    const watch = createWatch(node, { flags, terminal, until, signal });
    if (left.length > 0) say(flags, terminal, leftText(left.length));
    const before = await watch(left.map(idOf));
    if (input === undefined || before.open.length > 0) {
      const roots = new Set(left.filter((turn) => turn.parent_agent_turn_id === null).map(idOf));
      return {
        answers: before.answers.filter(({ agent_turn_id }) => roots.has(agent_turn_id)),
        open: before.open,
        keptIn,
      };
    }
    if (signal.aborted) {
      throw errorWithTodo("canceled", "stopped before the turn was asked for; nothing is kept", "Repeat the command.");
    }
    const { instance } = flags;
    const order = {
      agent: entryOf(roles, flags),
      input,
      ...(instance === undefined ? {} : { instance_key: instance }),
    };
    return {
      ...(await watch([(await agentPorts(node).enqueue({ project_id: flags.project, ...order })).agent_turn_id])),
      keptIn,
    };
  } finally {
    await roles.close({ graceMs: CLOSE_GRACE_MS });
  }
}

function entryOf({ agents }: OpenRoles, { agent }: RunFlags): string {
  const entry = agent ?? agents?.entryAgent;
  if (entry !== null && entry !== undefined) return entry;
  const todo = "Define an Agent and a Swarm in the bundle, or name an agent of the project with --agent.";
  throw errorWithTodo("agent_not_found", "the bundle has no agent", todo, EXIT.configuration);
}

/** Oldest first. */
async function leftOpen({ kernel }: Node, project: string) {
  const pages = await Promise.all(
    ["active", "queued"].map((status) => kernel.reads.turns(project, { status, limit: LEFT_OPEN_MAX })),
  );
  return pages.flat().toSorted((a, b) => (String(a.created_at) < String(b.created_at) ? -1 : 1));
}

function idOf(turn: Readonly<Record<string, unknown>>): string {
  return String(turn.agent_turn_id);
}

function leftText(count: number): string {
  return `finishing ${count === 1 ? "a turn" : `${count} turns`} that an earlier run left open`;
}

function say({ json }: RunFlags, terminal: Terminal, text: string): void {
  if (json !== true) terminal.err(`${visibleText(text)}\n`);
}

/** R1, R2 */
function tellRan(
  { answers, open, keptIn }: Ran,
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
    const last = open.length > 0 ? { status: "waiting", waiting_for: open, is_kept: keptIn !== null } : answers.at(-1);
    const nothing = { status: "nothing_left_open", deliverable: null };
    terminal.out(`${JSON.stringify({ ok, ...(last ?? nothing), ...(flags.resume ? { turns: answers } : {}) })}\n`);
    return exitCode;
  }
  for (const answer of answers) {
    const isOk = exitCodeOf(answer) === EXIT.ok;
    const text = deliverableText(answer.deliverable);
    if (isOk) terminal.out(terminal.isOutWatched ? visibleText(text) : text);
    if (answer.status !== "success") terminal.err(failureText(answer));
  }
  if (open.length > 0) {
    terminal.err(openTurnsText({ turnIds: open, isInterrupted, waitSeconds, keptIn }, bundle, flags));
  } else if (answers.length === 0) terminal.err("tessera: nothing was left open\n");
  return exitCode;
}
