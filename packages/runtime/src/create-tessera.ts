// Tessera inside a user's own program: one call opens everything, `close` ends it.
//
//     const tessera = await createTessera({ data: "./store", tools: [forecast], models: [model], agents: [planner] });
//     const { status, deliverable } = await tessera.run({ agent: "planner", input: "What is new?" });
//     await tessera.close();
//
//   T1. What is asked for is durable before it is answered: a program that is killed and opens the same store again finds
//       its turns by their ids, and they go on.
//   T2. Nothing of the program is taken: no signal handlers, no listeners for uncaught failures (but for `reportStrays`,
//       which asks for them), no exit (but for `hangMs`, which asks for one), and the log goes where the program says.
//   T3. What counts is what the program says: TESSERA_ variables and a bundle's settings are the command's.
//   T4. With a directory the API is served on a free port of loopback, because a directory has one holder (holder.ts, D1).
//   T5. Once `close` was asked for, nothing new can be asked. Waits that are under way go on through the grace; what has not
//       ended then is `waiting`, and goes on at the next start.

import { enqueueAgentTurn, requestToolCall, resetInstance, traceEnqueue } from "@tessera/agent";
import { errorOf, type FieldSchema } from "@tessera/protocol";
import type { Health } from "@tessera/server";
import type { RegisteredTool } from "@tessera/tool";
import { awaitTurn, type TurnAnswer, type WaitOptions } from "./await-turn.ts";
import { awaitToolCall, type ToolCallAnswer } from "./call-tool.ts";
import type { AgentResources } from "./open-agents.ts";
import type { Api, ApiOptions } from "./open-api.ts";
import { openLog } from "./open-log.ts";
import { openProcess, type Process, type ProcessOptions, type StopOptions } from "./open-process.ts";
import { ROLES, type Role } from "./roles.ts";
import { reportStrayFailures } from "./stray-failures.ts";

export interface TesseraOptions
  extends AgentResources,
    Pick<ProcessOptions, "data" | "postgres" | "nats" | "migrate" | "bundle" | "builtins" | "shell" | "workspaces">,
    Pick<ProcessOptions, "envAllowList" | "credentials" | "concurrencyMax" | "leaseMs" | "sweepIntervalMs" | "hangMs"> {
  /** Made with `defineTool`. */
  readonly tools?: readonly RegisteredTool[];
  /** Default: `default`. It is made where it is missing. */
  readonly project?: string;
  /** Default: all but `api`. */
  readonly roles?: readonly Role[];
  /** Serves the HTTP API there; port 0 takes a free one. False: not even for a directory (T4). */
  readonly api?:
    | Pick<ApiOptions, "host" | "port" | "apiKey" | "allowedHosts" | "trustedProxies" | "isGodEnabled">
    | false;
  /** Where tools' variables and models' keys are read; default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Takes each line of the log, which is JSON; default: stderr. */
  readonly log?: (line: string) => void;
  /** Failures that tools and extensions leave behind (a promise that nobody awaits, a throw in a timer) are written to the
   *  log and do not end the process. Needs listeners on the process, which leave the program's own failures as they are. */
  readonly reportStrays?: boolean;
  /** The embedded database broke: the program should end, and a new start recovers. */
  readonly onFatal?: (error: Error) => void;
}

export interface RunRequest {
  /** Its name; default: the entry of the swarm, or the only agent. */
  readonly agent?: string;
  readonly input: string;
  /** An instance of an agent remembers its earlier turns, as the agent's `memory` says; no other instance's. Default: `default`. */
  readonly instance_key?: string;
  /** True: the instance begins anew, and neither this turn nor a later one remembers what was before. */
  readonly is_fresh?: boolean;
  readonly channel_id?: string;
  /** The same key is the same turn. */
  readonly idempotency_key?: string;
  /** What the deliverable must have. */
  readonly result_fields?: readonly FieldSchema[];
}

export interface ResetRequest {
  /** Its name; default: the entry of the swarm, or the only agent. */
  readonly agent?: string;
  readonly instance_key?: string;
  /** For whoever looks at it later. */
  readonly reason?: string;
}

export interface CallOptions extends WaitOptions {
  /** Whose workspace the call has. */
  readonly agent_id?: string;
  readonly channel_id?: string;
  readonly idempotency_key?: string;
}

export interface Tessera {
  /** Asks for a turn and waits for its end. */
  run(request: RunRequest & WaitOptions): Promise<TurnAnswer>;
  /** Asks for a turn; `turn` waits for it. */
  enqueue(request: RunRequest): Promise<{ readonly agent_turn_id: string; readonly agent_id: string }>;
  /** How a turn ended. Without `waitMs` it answers at once, `waiting` where the turn is not over. */
  turn(agentTurnId: string, options?: WaitOptions): Promise<TurnAnswer>;
  /** Stops a turn and everything it waits for. False: it was over. */
  stop(agentTurnId: string, reason?: string): Promise<boolean>;
  /** Later turns of the instance remember nothing from before now; a running one goes on as it began. False: there was nothing. */
  reset(request?: ResetRequest): Promise<boolean>;
  /** One durable call of a tool of the project. */
  callTool(name: string, args?: unknown, options?: CallOptions): Promise<ToolCallAnswer>;
  /** For @tessera/client; null where no API is served. */
  readonly client: { readonly url: string; readonly apiKey: string } | null;
  readonly project: string;
  /** The entry of the swarm, or the only agent; null without one. */
  readonly entryAgent: string | null;
  health(): Promise<Health>;
  /** Takes nothing new and gives what runs the grace; a second call gives none. What is not done goes on at the next start. */
  close(options?: StopOptions): Promise<void>;
}

const PROJECT_DEFAULT = "default";
const ROLES_DEFAULT = ROLES.filter((role) => role !== "api");

export async function createTessera(options: TesseraOptions = {}): Promise<Tessera> {
  const { project = PROJECT_DEFAULT, roles = ROLES_DEFAULT, api, env = process.env } = options;
  const log = openLog(options.log ?? ((line) => void process.stderr.write(line)));
  const { models, agents, swarms } = options;
  const stopReporting = options.reportStrays === true ? reportStrayFailures(process) : () => undefined;
  const opened = await openProcess({
    ...options,
    roles: typeof api === "object" ? [...roles, "api"] : roles,
    project,
    resources: {
      ...(models === undefined ? {} : { models }),
      ...(agents === undefined ? {} : { agents }),
      ...(swarms === undefined ? {} : { swarms }),
    },
    env,
    executor: `tessera-${process.pid}`,
    api,
    onLog: log.printed,
    onWarning: log.warn,
    onFatal: options.onFatal ?? ((error) => log.warn(`the embedded database broke: ${error.message}`)),
  }).catch((error: unknown) => {
    stopReporting();
    throw error;
  });
  const close: Process["close"] = (stop) => opened.close(stop).finally(stopReporting);
  return tesseraOf({ ...opened, close }, project);
}

function tesseraOf({ node, agents, api, health, close }: Process, project: string): Tessera {
  const { kernel, ids } = node;
  const entryAgent = agents?.entryAgent ?? null;
  let isClosed = false;
  const checkOpen = () => {
    if (isClosed) throw errorOf("bad_request", "this Tessera was closed; createTessera opens its store again");
  };
  /** T5 */
  const orWaiting = async <T>(wait: Promise<T>, waiting: T): Promise<T> => {
    try {
      return await wait;
    } catch (error) {
      if (!isClosed) throw error;
      return waiting;
    }
  };
  const turnEnd = (turn: { readonly agent_turn_id: string; readonly agent_id: string }, options: WaitOptions) => {
    const waiting = { ...turn, status: "waiting" as const, deliverable: null, error: null };
    return orWaiting<TurnAnswer>(awaitTurn(node, project, turn, options), waiting);
  };
  const named = (agent: string | null = entryAgent): string => {
    if (agent === null) throw errorOf("agent_not_found", "no agent is defined; give agents, a bundle, or a name");
    return agent;
  };
  const enqueue: Tessera["enqueue"] = async ({ agent: wanted, input, ...rest }) => {
    checkOpen();
    const agent = named(wanted);
    const request = { ...pick(rest), project_id: project, agent, input };
    const { agent_turn_id, agent_id } = await traceEnqueue({ agent_name: agent }, (trace) =>
      enqueueAgentTurn(kernel, ids, { ...request, ...trace }),
    );
    return { agent_turn_id, agent_id };
  };
  return {
    project,
    entryAgent,
    client: clientOf(api),
    enqueue,
    run: async (request) => await turnEnd(await enqueue(request), request),
    async turn(agent_turn_id, { waitMs = 0, ...rest } = {}) {
      checkOpen();
      const turn = await kernel.reads.turn(project, agent_turn_id);
      const agent_id = String(turn?.agent_id);
      return await turnEnd({ agent_turn_id, agent_id }, { ...rest, waitMs });
    },
    async stop(agent_turn_id, reason) {
      checkOpen();
      const outcome = await kernel.stopTurn({ project_id: project, agent_turn_id, ...(reason && { reason }) });
      if (outcome.outcome === "accepted") return true;
      if (outcome.code === "not_found") throw errorOf("not_found", `there is no turn ${agent_turn_id}`);
      return false;
    },
    async reset({ agent, ...rest } = {}) {
      checkOpen();
      return await resetInstance(kernel, { ...rest, project_id: project, agent: named(agent) });
    },
    async callTool(tool_name, args = {}, { waitMs, signal, ...rest } = {}) {
      checkOpen();
      if ((await kernel.reads.tool(project, tool_name)) === null) {
        throw errorOf("not_found", `there is no tool ${JSON.stringify(tool_name)} in project ${project}`);
      }
      const request = { ...rest, project_id: project, tool_name, arguments: args };
      const { agent_turn_id } = await traceEnqueue({ tool_name }, (trace) =>
        requestToolCall(kernel, ids, { ...request, ...trace }),
      );
      const wait = { ...(waitMs === undefined ? {} : { waitMs }), ...(signal === undefined ? {} : { signal }) };
      const end = awaitToolCall(node, project, agent_turn_id, wait);
      return await orWaiting<ToolCallAnswer>(end, { agent_turn_id, status: "waiting" });
    },
    health,
    close(stopOptions) {
      isClosed = true;
      return close(stopOptions);
    },
  };
}

/** A request may be handed on with the options of its wait; the turn gets none of those. */
function pick(request: Omit<RunRequest, "agent" | "input">) {
  const { instance_key, channel_id, idempotency_key, result_fields, is_fresh } = request;
  return {
    ...(instance_key === undefined ? {} : { instance_key }),
    ...(channel_id === undefined ? {} : { channel_id }),
    ...(idempotency_key === undefined ? {} : { idempotency_key }),
    ...(result_fields === undefined ? {} : { result_fields }),
    ...(is_fresh === undefined ? {} : { is_fresh }),
  };
}

function clientOf(api: Api | null): Tessera["client"] {
  return api === null ? null : { url: api.url, apiKey: api.key.text };
}
