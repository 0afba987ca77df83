// tessera run: one turn from the command line, with everything it needs in this process; or on a running server (run-remote.ts).
//
//   R1. stdout holds the deliverable and nothing else, so that it can be piped; steps, calls, waits and failures go to
//       stderr. With --json it is the other way round: events and the answer are lines on stdout.
//   R2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart.
//   R3. What an earlier run left open in a directory is finished first, because a turn that is asked for now would wait for
//       it anyway, and nobody else is there to do it. In PostgreSQL others may be at it: there only --resume waits for it.
//       Calls that were made by hand are no run: a new task does not wait for them, and they go on beside it.
//   R4. Ctrl-C ends the wait, not the turn: with a store it is kept, and --resume goes on with it.
//   R5. Making a store takes a moment: that is said at once, and so is Ctrl-C in it.
//   R6. While it runs, the process serves its API: other commands reach the directory it holds through it.

import { existsSync, readdirSync, statSync } from "node:fs";
import { API_HOST, type Node, type Process, type Settings } from "@tessera/runtime";
import { clientOf, startedHolder } from "../connect/connection.ts";
import { withProcess } from "../connect/with-process.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readNumber } from "../flags/flag-values.ts";
import type { HostFlags } from "../flags/flags.ts";
import { hostSettings } from "../flags/host-settings.ts";
import { ROLES } from "../flags/roles.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { openWatch, type Watch, type WatchedTurns } from "../progress/watch-turns.ts";
import { exitCodeOf, openTurn, openTurnsText, tellAnswer } from "../turns/turn-answer.ts";
import { bundleHere } from "./bundle-here.ts";
import { type InstanceFlags, instanceIn } from "./chosen-instance.ts";
import { checkPlace, isRemote, runRemotely } from "./run-remote.ts";

export interface RunFlags extends HostFlags, InstanceFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly input?: string;
  readonly agent?: string;
  readonly wait: string;
  readonly resume?: boolean;
}

const INPUT_BYTES_MAX = 262_144;
const WAIT_SECONDS_MAX = 86_400;
const CLOSE_GRACE_MS = 1_000;
const LEFT_OPEN_MAX = 1_000;
/** The worker target of agents that only make one call, which somebody asked for by hand. */
const TOOL_CALLER = "tool_caller";

interface Ran extends WatchedTurns {
  /** False: what was left open took all the time, and the task was not asked for. */
  readonly isAsked: boolean;
  /** Null: the store was in memory. */
  readonly keptIn: string | null;
}

interface LeftOpen {
  readonly agent_turn_id: string;
  readonly isRoot: boolean;
}

export async function runCommand(given: string | undefined, raw: RunFlags, terminal: Terminal): Promise<ExitCode> {
  if ((raw.input === undefined) === (raw.resume !== true)) {
    throw usageError("give the task with --input TEXT, or --resume to finish what was left open, and not both");
  }
  if (raw.resume === true && (raw.agent ?? raw.instance ?? raw.fresh) !== undefined) {
    throw usageError("--resume finishes whatever was left open; --agent, --instance and --fresh go with --input");
  }
  const waitSeconds = readNumber("--wait", raw.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  checkPlace(given, raw);
  const here = given ?? bundleHere();
  const { flags, values } = await hostSettings(raw, terminal, { bundle: here });
  const isOnServer = await isRemote(given, flags);
  const input = flags.input === "-" ? await terminal.input(INPUT_BYTES_MAX) : flags.input;
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const { signal } = interrupt;
  if (isOnServer) return await runRemotely({ flags, terminal, input: input ?? "", waitSeconds, signal });
  if (here === undefined) {
    const todo = "Name a directory with a tessera.yaml, goondan.yaml or tessera.config.ts.";
    throw errorWithTodo("E_CONFIG_ENTRY_NOT_FOUND", "there is no bundle in this directory", todo, EXIT.configuration);
  }
  try {
    const ran = await runHere({ bundle: here, flags, settings: values, terminal, input, waitSeconds, signal });
    return tellRan(ran, { bundle: given, flags, terminal, waitSeconds, isInterrupted: signal.aborted });
  } catch (error) {
    // A process that was just starting has the directory: by now it can be asked, or told apart.
    if ((await startedHolder(error, flags, terminal)) === null || !(await isRemote(given, flags))) throw error;
    return await runRemotely({ flags, terminal, input: input ?? "", waitSeconds, signal });
  }
}

interface Order {
  readonly bundle: string;
  readonly flags: RunFlags;
  readonly settings: Settings;
  readonly terminal: Terminal;
  /** Undefined: --resume. */
  readonly input: string | undefined;
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

async function runHere(order: Order): Promise<Ran> {
  const { bundle, flags, settings, terminal, input } = order;
  let left: LeftOpen[] = [];
  // What tools say before there is anybody to print it.
  let note = (text: string) => say(flags, terminal, text);
  let isOpen = false;
  order.signal.addEventListener("abort", () => {
    if (!isOpen) note("tessera: stopping; Ctrl-C again ends at once"); // R5
  });
  if (settings.data !== undefined && isNewStore(settings.data)) note(`making a store in ${settings.data} …`);
  return await withProcess(
    {
      flags,
      settings: { ...settings, port: 0, host: API_HOST, api_key: undefined }, // R6
      terminal,
      bundle,
      isThrowAway: input !== undefined,
      graceMs: CLOSE_GRACE_MS,
      options: {
        roles: ROLES,
        ...(input === undefined ? { migrate: "check" } : {}),
        // Before anybody works: what was left open may end at once.
        beforeWork: async (node) => {
          if (node.store.kind === "directory" || input === undefined) {
            left = await leftOpen(node, flags.project, { withCalls: input === undefined }); // R3
          }
          if (left.length > 0) note(leftText(left.length)); // before whatever the tools say about it
        },
        onLog: ({ level, message }) => note(`${level.padEnd(5)} ${message}`),
      },
    },
    async (process) => {
      isOpen = true;
      const { clock, store } = process.node;
      const { client } = await clientOf(addressOf(process));
      const until = clock.monotonicMs() + order.waitSeconds * 1_000;
      const watch = openWatch({ client, clock }, { flags, terminal, until, signal: order.signal });
      note = (text) => watch.printer.note(text);
      const keptIn = store.kind === "memory" ? null : store.place.name;
      try {
        return { ...(await runTurns(process, watch, left, order, client)), keptIn };
      } finally {
        await watch.close();
      }
    },
  );
}

async function runTurns(
  process: Process,
  watch: Watch,
  left: readonly LeftOpen[],
  { flags, input, signal }: Order,
  client: Awaited<ReturnType<typeof clientOf>>["client"],
): Promise<Omit<Ran, "keptIn">> {
  const before = await watch.turns(
    left.map(({ agent_turn_id }) => agent_turn_id),
    "open",
  );
  if (input === undefined || before.open.length > 0) {
    const roots = new Set(left.filter(({ isRoot }) => isRoot).map(({ agent_turn_id }) => agent_turn_id));
    const answers = before.answers.filter(({ agent_turn_id }) => roots.has(agent_turn_id));
    return { answers, open: before.open, isAsked: input === undefined };
  }
  if (signal.aborted) {
    throw errorWithTodo("canceled", "stopped before the turn was asked for; nothing is kept", "Repeat the command.");
  }
  const body = { agent: entryOf(process, flags), input, ...instanceIn(flags) };
  const turn = await client.enqueueTurn({ project: flags.project, body });
  return { ...(await watch.turns([turn.agentTurnId])), isAsked: true };
}

export function addressOf({ api }: Process): { url: string; apiKey: string } {
  if (api === null) throw new Error("a process with the role api has an API");
  return { url: api.url, apiKey: api.key.text };
}

export function entryOf({ agents }: Process, { agent }: Pick<RunFlags, "agent">): string {
  const entry = agent ?? agents?.entryAgent;
  if (entry !== null && entry !== undefined) return entry;
  const todo = "Define an Agent and a Swarm in the bundle, or name an agent of the project with --agent.";
  throw errorWithTodo("agent_not_found", "the bundle has no agent", todo, EXIT.configuration);
}

/** Oldest first. */
async function leftOpen(
  { kernel }: Node,
  project: string,
  { withCalls }: { readonly withCalls: boolean },
): Promise<LeftOpen[]> {
  const pages = await Promise.all(
    ["active", "queued"].map((status) => kernel.reads.turns(project, { status, limit: LEFT_OPEN_MAX })),
  );
  const turns = pages.flat();
  const ids = [...new Set(turns.map(({ agent_id }) => String(agent_id)))];
  const agents = withCalls ? [] : await Promise.all(ids.map((agentId) => kernel.reads.agent(project, agentId)));
  const callers = new Set(agents.filter((row) => row?.worker_target === TOOL_CALLER).map((row) => row?.agent_id));
  return turns
    .filter(({ agent_id }) => !callers.has(agent_id))
    .toSorted((a, b) => (String(a.created_at) < String(b.created_at) ? -1 : 1))
    .map((turn) => ({ agent_turn_id: String(turn.agent_turn_id), isRoot: turn.parent_agent_turn_id === null }));
}

/** A directory that is not there, or has nothing in it. */
function isNewStore(data: string): boolean {
  return !existsSync(data) || (statSync(data).isDirectory() && readdirSync(data).length === 0);
}

function leftText(count: number): string {
  return `finishing ${count === 1 ? "a turn" : `${count} turns`} that an earlier run left open`;
}

function say({ json }: RunFlags, terminal: Terminal, text: string): void {
  if (json !== true) terminal.err([{ line: [text], hang: 2 }]);
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
