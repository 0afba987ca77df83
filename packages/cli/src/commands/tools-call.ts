// tessera tools call: one durable tool call from the command line. Where no process has the store, it loads the bundle,
// commits the call, and runs it in its placement; elsewhere it asks the process that is there. Then it prints the result.
//
//   C1. stdout holds the result and nothing else, so that it can be piped; logs, progress and failures go to stderr.
//   C2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart. A call that was
//       never made is no tool that failed: it exits like any other command that finds nothing (1).
//   C3. Ctrl-C ends the wait, not the call: with a store it is kept, and --turn finds it again.
//   C4. A call puts into its project no more than it needs: its bundle, and of the built-in tools the one it names.
//   C5. A process that has the store has its own tools: --bundle is then not used, and that is printed.

import type { Process, Settings } from "@tessera/runtime";
import type { Command } from "commander";
import { type Api, askOf, reachRunning, startedHolder } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkId, readNumber } from "../flags/flag-values.ts";
import { addHostFlags, addServerFlags, type HostFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { sentence, type Terminal } from "../output/printing-gate.ts";
import {
  exitCodeOfCall,
  failureText,
  type OpenCall,
  openCallText,
  type ToolCallAnswer,
} from "../output/tool-call-answer.ts";
import type { ProgramParts } from "../program.ts";
import { awaitCall } from "./await-call.ts";
import { bundleHere } from "./bundle-here.ts";
import { readArguments } from "./call-arguments.ts";
import { namesOf, toolsOf, unknownTool } from "./known-tools.ts";

interface ToolCallFlags extends HostFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly arguments?: string;
  readonly bundle?: string;
  readonly wait: string;
  readonly agent?: string;
  readonly turn?: string;
}

/** A call that is to be made, or was. */
interface Order {
  /** Undefined: --turn. */
  readonly name: string | undefined;
  readonly flags: ToolCallFlags;
  readonly settings: Settings;
  readonly bundle: string | undefined;
  readonly terminal: Terminal;
  readonly given: Readonly<Record<string, unknown>>;
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}

/** What was learnt about it. */
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

const CALL_HELP = `
Without --data or --postgres the call runs on a store in memory that is thrown
away. The bundle is the current directory if it holds one. With --url, or where
a process holds the directory, that process's tools are called. The result is
JSON on stdout; what the tool logs goes to stderr. With a store, a call that was
not waited for to its end is kept: ask for it again with --turn.

Examples:
  $ tessera tools call text-transform__trim --arguments '{"text":" hello "}'
  $ tessera tools call file-system__list --json
  $ tessera tools call slow__job --arguments @job.json --data ./store --wait 600
  $ cat job.json | tessera tools call slow__job --arguments - | jq .`;

export function defineToolsCall(call: Command, { terminal, onExit }: ProgramParts): void {
  addServerFlags(addHostFlags(call))
    .argument("[tool]", "its name, e.g. text-transform__trim")
    .description("make one durable call and print its result")
    .option("--arguments <json>", "a JSON object, @file with one, or - for stdin (default {})")
    .option("--turn <id>", "ask again for a call that was made before, instead of making one")
    .option("--bundle <dir>", "a directory with tools (default: the current one, if it holds any)")
    .option("--agent <id>", "whose workspace the call has (default: a new one)")
    .option("--wait <seconds>", "how long to wait for the result", "60")
    .addHelpText("after", CALL_HELP)
    .action(async (name: string | undefined, flags: ToolCallFlags) => onExit(await toolsCall(name, flags, terminal)));
}

async function toolsCall(name: string | undefined, rawFlags: ToolCallFlags, terminal: Terminal): Promise<ExitCode> {
  if ((name === undefined) === (rawFlags.turn === undefined)) {
    throw usageError("name the tool to call, or with --turn a call that was made before, and not both");
  }
  const waitSeconds = readNumber("--wait", rawFlags.wait, { min: 0, max: WAIT_SECONDS_MAX, whole: false });
  if (rawFlags.agent !== undefined) checkId("--agent", rawFlags.agent);
  if (rawFlags.turn !== undefined) checkId("--turn", rawFlags.turn);
  const given = await readArguments(rawFlags.arguments, terminal);
  const bundle = rawFlags.bundle ?? bundleHere();
  const { hostSettings } = await import("../flags/host-settings.ts");
  const { flags, values } = await hostSettings(rawFlags, terminal, { bundle });
  const interrupt = new AbortController();
  void terminal.stopped().then(() => interrupt.abort());
  const order = { name, flags, settings: values, bundle, terminal, given, waitSeconds, signal: interrupt.signal };
  // Without a server or a store, a new call gets a store in memory.
  const isPlaced = name === undefined || [flags.url, flags.data, flags.postgres].some((place) => place !== undefined);
  const running = isPlaced ? await reachRunning(flags, terminal) : null;
  const asked = running === null ? await askHereOrStarted(order) : await askRunning(running, order);
  tellAnswer(asked, flags, terminal);
  return exitCodeOfCall(asked.answer); // C2
}

async function askRunning(api: Api, order: Order): Promise<Asked> {
  const { flags, terminal } = order;
  if (flags.bundle !== undefined && flags.json !== true) {
    const said = `tessera: ${api.name} is served by a running process, whose tools are called; --bundle is not used`;
    terminal.err([sentence(said)]); // C5
  }
  return await askOf(api, () => ask(api, order, { hosted: [], keptIn: api.name }));
}

async function askHereOrStarted(order: Order): Promise<Asked> {
  try {
    return await askHere(order);
  } catch (error) {
    const started = await startedHolder(error, order.flags, order.terminal);
    if (started === null) throw error;
    return await askRunning(started, order);
  }
}

async function askHere(order: Order): Promise<Asked> {
  const { name, flags, settings, bundle, terminal } = order;
  const say = (text: string) => (flags.json === true ? undefined : terminal.err([{ line: [text], hang: 6 }]));
  const [{ API_HOST, BUILTIN_RESOURCES }, { ownApi, withProcess }] = await Promise.all([
    import("@tessera/runtime"),
    import("../connect/with-process.ts"),
  ]);
  const resource = name?.split("__")[0] ?? "";
  const builtins = BUILTIN_RESOURCES.includes(resource) ? [resource] : []; // C4
  return await withProcess(
    {
      flags,
      settings: { ...settings, builtins: settings.builtins ?? builtins, port: 0, host: API_HOST, api_key: undefined },
      terminal,
      bundle,
      isThrowAway: name !== undefined,
      graceMs: CLOSE_GRACE_MS,
      options: {
        roles: ["kernel", "tools", "api"],
        migrate: name === undefined ? "check" : undefined,
        onLog: ({ level, message }) => say(`${level.padEnd(5)} ${message}`),
        onProgress: (_, { message = "", fraction }) =>
          say(`progress ${fraction === undefined ? "" : `${Math.round(fraction * 100)} % `}${message}`),
      },
    },
    async (process) => {
      const { store } = process.node;
      const keptIn = store.kind === "memory" ? null : store.place.name;
      return await ask(await ownApi(process), order, { hosted: hostedBy(process), keptIn });
    },
  );
}

function hostedBy({ host }: Process): string[] {
  return host === null ? [] : host.registry.list().map(({ definition }) => definition.tool_name);
}

async function ask(
  api: Pick<Api, "client" | "clock">,
  order: Order,
  { hosted, keptIn }: { readonly hosted: readonly string[]; readonly keptIn: string | null },
): Promise<Asked> {
  const { name, flags, terminal, waitSeconds, signal } = order;
  if (signal.aborted) {
    throw errorWithTodo("canceled", "stopped before the call was made; nothing is kept", "Repeat the command.");
  }
  const turn = flags.turn ?? (await request(api, order, hosted));
  const { tool, answer, reason } = await awaitCall(api, {
    project: flags.project,
    turn,
    waitMs: waitSeconds * 1_000,
    tellAfterMs: terminal.isWatched ? TELL_AFTER_MS.watched : TELL_AFTER_MS.unwatched,
    tell: (text) => (flags.json === true ? undefined : terminal.err([{ line: [`waiting: ${text}`], hang: 9 }])),
    signal,
  });
  const open = reason === null ? null : { isInterrupted: signal.aborted, waitSeconds, reason, keptIn };
  return { tool: name ?? tool ?? turn, answer, open };
}

/** Commits the call. A name that no tool has is an error, which lists the names there are. */
async function request({ client }: Pick<Api, "client">, order: Order, hosted: readonly string[]): Promise<string> {
  const { name = "", flags, given } = order;
  const { project, agent } = flags;
  const whose = agent === undefined ? {} : { agentId: agent };
  try {
    const body = { arguments: given, waitSeconds: 0, ...whose };
    return (await client.callTool({ project, tool: name, body })).agentTurnId;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const known = new Set([...hosted, ...namesOf(await toolsOf(client, flags))]);
    throw known.has(name) ? error : unknownTool(name, project, [...known]);
  }
}

/** C1, C3 */
function tellAnswer({ tool, answer, open }: Asked, flags: ToolCallFlags, terminal: Terminal): void {
  const isOk = exitCodeOfCall(answer) === EXIT.ok;
  if (flags.json === true) {
    const more = open === null ? {} : { why: open.reason, is_kept: open.keptIn !== null };
    terminal.out(`${JSON.stringify({ ok: isOk, tool, ...answer, ...more })}\n`);
  } else if (isOk) terminal.out(`${JSON.stringify(answer.result ?? null, null, 2)}\n`);
  else if (open === null) terminal.err(failureText(tool, answer));
  else terminal.err(openCallText(tool, answer.agent_turn_id, open, flags, terminal.env));
}
