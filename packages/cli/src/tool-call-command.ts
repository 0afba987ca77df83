// tessera tools call: one durable tool call from the command line. Loads the bundle, commits the call, runs it in its
// placement (or waits for whoever does) and prints the result.
//
//   C1. stdout holds the result and nothing else, so that it can be piped; logs, progress and failures go to stderr.
//   C2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart.
//   C3. Ctrl-C ends the wait, not the call: with a store it is kept, and --turn finds it again.
//   C4. A call puts into its project no more than it needs: its bundle, and of the built-in tools the one it names.

import {
  awaitToolCall,
  BUILTIN_RESOURCES,
  type Node,
  openToolHost,
  startToolCaller,
  type ToolCallAnswer,
  type ToolCaller,
  type ToolHost,
} from "@tessera/runtime";
import { bundleHere } from "./bundle-here.ts";
import { readArguments } from "./call-arguments.ts";
import { tellWait, waitingFor } from "./call-wait.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { errorWithTodo, usageError } from "./failure.ts";
import { checkId, readNumber } from "./flag-values.ts";
import type { HostFlags } from "./flags.ts";
import type { Terminal } from "./run-cli.ts";
import { warnings } from "./store-flags.ts";
import { exitCodeOf, failureText, type OpenCall, openCallText } from "./tool-call-answer.ts";
import { namesOf } from "./tools-command.ts";
import { unknownTool } from "./unknown-tool.ts";
import { visibleText } from "./visible-text.ts";
import { hostOptions, withNode } from "./with-node.ts";

export interface ToolCallFlags extends HostFlags {
  readonly arguments?: string;
  readonly bundle?: string;
  readonly wait: string;
  readonly agent?: string;
  readonly turn?: string;
}

/** What is waited for, and what was learnt about it. */
interface Asked {
  readonly tool: string;
  readonly answer: ToolCallAnswer;
  /** Null once it has ended. */
  readonly open: OpenCall | null;
}

const WAIT_SECONDS_MAX = 86_400;
/** A person who watches wonders sooner than a log is worth a line. */
const TELL_AFTER_MS = { watched: 1_000, unwatched: 5_000 } as const;
const CLOSE_GRACE_MS = 1_000;

export async function toolCallCommand(
  name: string | undefined,
  flags: ToolCallFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  if ((name === undefined) === (flags.turn === undefined)) {
    throw usageError("name the tool to call, or with --turn a call that was made before, and not both");
  }
  const waitSeconds = readNumber("--wait", flags.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  if (flags.agent !== undefined) checkId("--agent", flags.agent);
  if (flags.turn !== undefined) checkId("--turn", flags.turn);
  const given = await readArguments(flags.arguments, terminal);
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const isNew = flags.turn === undefined;
  const store = isNew ? { throwAway: true } : { migrate: "check" as const };
  const asked = await withNode(flags, terminal, store, (node) =>
    withCaller({ name, flags, terminal, node }, async (host, caller) => {
      if (interrupt.signal.aborted) {
        throw errorWithTodo("canceled", "stopped before the call was made; nothing is kept", "Repeat the command.");
      }
      const turnId = flags.turn ?? (await request(node, host, caller, { name: name ?? "", flags, given }));
      return await ask(node, turnId, { name, flags, terminal, waitSeconds, signal: interrupt.signal });
    }),
  );
  tellAnswer(asked, flags, terminal);
  return exitCodeOf(asked.answer); // C2
}

async function withCaller<T>(
  call: { name: string | undefined; flags: ToolCallFlags; terminal: Terminal; node: Node },
  work: (host: ToolHost, caller: ToolCaller) => Promise<T>,
): Promise<T> {
  const { name, flags, terminal, node } = call;
  const say = (text: string) => (flags.json === true ? undefined : terminal.err(`${visibleText(text)}\n`));
  const onWarning = warnings(flags, terminal);
  const onLog = ({ level, message }: { level: string; message: string }) => say(`${level.padEnd(5)} ${message}`);
  const bundle = flags.bundle ?? bundleHere();
  const resource = name?.split("__")[0] ?? "";
  const builtins = BUILTIN_RESOURCES.includes(resource) ? { builtins: resource } : {}; // C4
  const options = hostOptions({ ...builtins, ...flags }, terminal, bundle);
  const host = await openToolHost({ ...options, node, onLog, onWarning });
  try {
    const caller = await startToolCaller({
      ...node,
      project: flags.project,
      runner: host.runner,
      isHosted: host.isHosted,
      onLog,
      onProgress: (_, { message = "", fraction }) =>
        say(`progress ${fraction === undefined ? "" : `${Math.round(fraction * 100)} % `}${message}`),
      onWarning,
    });
    try {
      return await work(host, caller);
    } finally {
      await caller.stop();
    }
  } finally {
    await host.close({ graceMs: CLOSE_GRACE_MS });
  }
}

/** Commits the call. A name that nothing has is told before, with the names there are. */
async function request(
  { kernel }: Node,
  host: ToolHost,
  caller: ToolCaller,
  { name, flags, given }: { name: string; flags: ToolCallFlags; given: unknown },
): Promise<string> {
  const { project, agent } = flags;
  if ((await kernel.reads.tool(project, name)) === null) {
    const hosted = host.registry.list().map(({ definition }) => definition.tool_name);
    const known = new Set([...hosted, ...namesOf(await kernel.reads.tools(project))]);
    throw unknownTool(name, project, [...known], EXIT.failed);
  }
  const whose = agent === undefined ? {} : { agent_id: agent };
  return (await caller.request({ project_id: project, tool_name: name, arguments: given, ...whose })).agent_turn_id;
}

async function ask(
  node: Node,
  turnId: string,
  options: {
    readonly name: string | undefined;
    readonly flags: ToolCallFlags;
    readonly terminal: Terminal;
    readonly waitSeconds: number;
    readonly signal: AbortSignal;
  },
): Promise<Asked> {
  const { flags, terminal, waitSeconds, signal } = options;
  const { reads } = node.kernel;
  const reason = () => waitingFor(reads, flags.project, turnId);
  const note = tellWait({
    clock: node.clock,
    firstMs: terminal.isWatched ? TELL_AFTER_MS.watched : TELL_AFTER_MS.unwatched,
    reason,
    say: (text) => (flags.json === true ? undefined : terminal.err(`waiting: ${text}\n`)),
  });
  const answer = await awaitToolCall(node, flags.project, turnId, { waitMs: waitSeconds * 1_000, signal }).finally(() =>
    note.stop(),
  );
  const tool = options.name ?? String((await reads.callsOfTurn(flags.project, turnId))[0]?.tool_name ?? turnId);
  if (answer.status !== "waiting") return { tool, answer, open: null };
  const { place } = node.store;
  const keptIn = place.kind === "memory" ? null : place.name;
  return { tool, answer, open: { isInterrupted: signal.aborted, waitSeconds, reason: await reason(), keptIn } };
}

/** C1, C3 */
function tellAnswer({ tool, answer, open }: Asked, flags: ToolCallFlags, terminal: Terminal): void {
  const isOk = exitCodeOf(answer) === EXIT.ok;
  if (flags.json === true) {
    const more = open === null ? {} : { waiting_for: open.reason, is_kept: open.keptIn !== null };
    terminal.out(`${JSON.stringify({ ok: isOk, tool, ...answer, ...more })}\n`);
  } else if (isOk) terminal.out(`${JSON.stringify(answer.result ?? null, null, 2)}\n`);
  else if (open === null) terminal.err(failureText(tool, answer));
  else terminal.err(visibleText(openCallText(tool, answer.agent_turn_id, open, flags)));
}
