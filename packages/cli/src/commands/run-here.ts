// tessera run in this process: a store with every role and an API, the turns that an earlier run left open, then the task.
//
//   H1. What an earlier run left open in a directory is finished first, because a turn that is asked for now would wait for
//       it anyway, and no other process works on it. In PostgreSQL others may: there only --resume waits for it.
//       Calls of `tools call` are no run: a new task does not wait for them, and they go on beside it.
//   H2. Making a store takes a moment: that is printed at once, and so is Ctrl-C in it.
//   H3. While it runs, the process serves its API: other commands reach the directory it holds through it.

import { existsSync, readdirSync, statSync } from "node:fs";
import { API_HOST, type Node, type Process, type Settings } from "@tessera/runtime";
import type { Api } from "../connect/connection.ts";
import { ownApi, withProcess } from "../connect/with-process.ts";
import { EXIT } from "../exit-codes.ts";
import { ROLES } from "../flags/roles.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { openWatch, type Watch, type WatchedTurns } from "../progress/watch-turns.ts";
import type { RunFlags } from "./run.ts";
import { instanceIn } from "./run-remote.ts";

const CLOSE_GRACE_MS = 1_000;
const LEFT_OPEN_MAX = 1_000;
/** The worker target of agents that only make one call, which `tools call` asked for. */
const TOOL_CALLER = "tool_caller";

export interface Ran extends WatchedTurns {
  /** False: what was left open took all the time, and the task was not asked for. */
  readonly isAsked: boolean;
  /** Null: the store was in memory. */
  readonly keptIn: string | null;
}

interface LeftOpen {
  readonly agent_turn_id: string;
  readonly isRoot: boolean;
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

export async function runHere(order: Order): Promise<Ran> {
  const { bundle, flags, settings, terminal, input } = order;
  let left: LeftOpen[] = [];
  // What tools log before the progress printer is there.
  let note = (text: string) => say(flags, terminal, text);
  let isOpen = false;
  order.signal.addEventListener("abort", () => {
    if (!isOpen) note("tessera: stopping; Ctrl-C again ends at once"); // H2
  });
  if (settings.data !== undefined && isNewStore(settings.data)) note(`making a store in ${settings.data} …`);
  return await withProcess(
    {
      flags,
      settings: { ...settings, port: 0, host: API_HOST, api_key: undefined }, // H3
      terminal,
      bundle,
      isThrowAway: input !== undefined,
      graceMs: CLOSE_GRACE_MS,
      options: {
        roles: ROLES,
        migrate: input === undefined ? "check" : undefined,
        // Before the workers start: what was left open may end at once.
        beforeWork: async (node) => {
          if (node.store.kind === "directory" || input === undefined) {
            left = await leftOpen(node, flags.project, { withCalls: input === undefined }); // H1
          }
          if (left.length > 0) note(leftText(left.length)); // before what the tools log about it
        },
        onLog: ({ level, message }) => note(`${level.padEnd(5)} ${message}`),
      },
    },
    async (process) => {
      isOpen = true;
      const { clock, store } = process.node;
      const { client } = await ownApi(process);
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
  client: Api["client"],
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
