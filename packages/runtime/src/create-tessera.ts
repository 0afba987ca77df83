// Tessera inside a user's own program: one call opens everything, `close` ends it.
//
//     const tessera = await createTessera({ data: "./store", tools: [forecast], models: [model], agents: [planner] });
//     const turn = await tessera.run({ agent: "planner", input: "What is new?" });
//     await tessera.close();
//
//   T1. What is asked for is durable before it is answered: a program that is killed and opens the same store again finds
//       its turns by their ids, and they go on.
//   T2. Nothing of the program is taken: no signal handlers, no exit (but for `hangMs`, which asks for one), and the log goes
//       where the program says. The listeners for failures that tools leave behind leave the program's own as they are.
//   T3. What counts is what the program says: TESSERA_ variables and a bundle's settings are the command's.
//   T4. With a directory the API is served on a free port of loopback, because a directory has one holder (holder.ts, D1).
//   T5. Once `close` was asked for, nothing new can be asked. Waits that are under way go on through the grace; what has not
//       ended then is `waiting`, and goes on at the next start.

import { enqueueAgentTurn, requestToolCall, resetInstance, traceEnqueue } from "@tessera/agent";
import { errorOf, type FieldSchema } from "@tessera/protocol";
import type { Health } from "@tessera/server";
import type { DefinedTool, RegisteredTool, ToolParameters } from "@tessera/tool";
import { type DeliverableSchema, deliverableSchema, type InferDeliverable } from "@tessera/tool/catalog";
import { type AskedTurn, awaitTurn, openTurn, type TurnAnswer, type WaitOptions } from "./agents/await-turn.ts";
import type { AgentResources } from "./agents/open-agents.ts";
import type { Api, ApiOptions } from "./api/open-api.ts";
import { openLog } from "./process/open-log.ts";
import { openProcess, type Process, type ProcessOptions, type StopOptions } from "./process/open-process.ts";
import { reportStrayFailures } from "./process/stray-failures.ts";
import { ROLES, type Role } from "./roles.ts";
import { awaitToolCall, openCall, type ToolCallAnswer } from "./tools/call-tool.ts";

/** What {@link createTessera} takes. Nothing is needed: without `data` and `postgres` the store is in memory, and gone at the
 *  end. */
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
  /** Serves the HTTP API there; port 0 takes a free one. False: not even for a directory, which other processes cannot reach
   *  then. Default: for a directory, on a free port of loopback. */
  readonly api?:
    | Pick<ApiOptions, "host" | "port" | "apiKey" | "allowedHosts" | "trustedProxies" | "isGodEnabled">
    | false;
  /** Where tools' variables and models' keys are read; default: this process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Takes each line of the log, which is JSON; default: stderr. */
  readonly log?: (line: string) => void;
  /** Failures that tools and extensions leave behind (a promise that is not awaited, a throw in a timer) are written to the
   *  log and do not end the process. The listeners that this needs leave the program's own failures as they are, and go with
   *  `close`. false: no listeners, and such a failure ends the process. */
  readonly reportStrays?: boolean | undefined;
  /** The embedded database broke: the program should end, and a new start recovers. */
  readonly onFatal?: (error: Error) => void;
}

/** What a turn is asked for. */
export interface RunRequest {
  /** Its name; default: the entry of the swarm, or the only agent. */
  readonly agent?: string;
  /** The task, in words. */
  readonly input: string;
  /** An instance of an agent remembers its earlier turns, as the agent's `memory` says; no other instance's. Default: `default`. */
  readonly instanceKey?: string;
  /** True: the instance begins anew, and neither this turn nor a later one remembers what was before. */
  readonly isFresh?: boolean;
  /** The channel that the turn and its calls belong to. Default: `public`. */
  readonly channelId?: string;
  /** The same key is the same turn, however often it is asked for: also after a crash, and in another process. */
  readonly idempotencyKey?: string;
  /** The fields that the deliverable must have, of any JSON; with `deliverable` there is a schema for them. */
  readonly resultFields?: readonly FieldSchema[];
}

/** What is to be delivered, for {@link Tessera.run}. */
export interface Deliver<Schema extends ToolParameters> {
  /** The schema of the deliverable, an object: of zod, valibot, arktype … or a JSON Schema. The model is told it, has to end its turn
   *  with `submit_result`, and corrects what does not fit. What does not fit all the same is thrown as `deliverable_invalid`. */
  readonly deliverable: Schema;
}

/** Whose memory is to begin anew. */
export interface ResetRequest {
  /** Its name; default: the entry of the swarm, or the only agent. */
  readonly agent?: string;
  /** Which instance of the agent. Default: `default`. */
  readonly instanceKey?: string;
  /** Is kept, for people who look at it later. */
  readonly reason?: string;
}

/** How a tool is called. */
export interface CallOptions extends WaitOptions {
  /** The instance in whose name and workspace the tool works. Default: one of the call's own. */
  readonly agentId?: string;
  /** The channel that the call belongs to. Default: `public`. */
  readonly channelId?: string;
  /** The same key is the same call, however often it is asked for: also after a crash, and in another process. */
  readonly idempotencyKey?: string;
}

/** A store and what works on it, inside a program: what {@link createTessera} opens. */
export interface Tessera {
  /** Asks for a turn and waits for its end; with a schema, its deliverable has the schema's type.
   *
   * ```ts
   * import { createTessera } from "@tessera/tessera";
   * import { z } from "zod";
   *
   * const tessera = await createTessera({ bundle: "./my-swarm" });
   * const Offer = z.object({ hotel: z.string(), price: z.number().describe("For a night, in euros") });
   * const turn = await tessera.run({ input: "A room in Porto", deliverable: Offer });
   * if (turn.status === "success") console.log(turn.deliverable.hotel, turn.deliverable.price.toFixed(2));
   * ```
   */
  run<const Schema extends ToolParameters>(
    request: RunRequest & WaitOptions & Deliver<Schema>,
  ): Promise<TurnAnswer<InferDeliverable<Schema>>>;
  run(request: RunRequest & WaitOptions): Promise<TurnAnswer>;
  /** Asks for a turn; it is stored when this resolves. `turn` waits for it. */
  enqueue(request: RunRequest & Partial<Deliver<ToolParameters>>): Promise<AskedTurn>;
  /** How a turn ended. Without `waitMs` it answers at once, `waiting` where the turn is not over. With the schema that was asked for,
   *  the deliverable has its type. */
  turn<const Schema extends ToolParameters>(
    agentTurnId: string,
    options: WaitOptions & Deliver<Schema>,
  ): Promise<TurnAnswer<InferDeliverable<Schema>>>;
  turn(agentTurnId: string, options?: WaitOptions): Promise<TurnAnswer>;
  /** Stops a turn and everything it waits for. False: it was over. */
  stop(agentTurnId: string, reason?: string): Promise<boolean>;
  /** Later turns of the instance remember nothing from before now; a running one goes on as it began. False: there was nothing. */
  reset(request?: ResetRequest): Promise<boolean>;
  /** One durable call of a tool of the project, without a model. Called by its definition, arguments and result have the tool's types;
   *  by its name, they are any JSON.
   *
   * ```ts
   * import { createTessera, defineTool } from "@tessera/tessera";
   *
   * const double = defineTool({
   *   name: "double",
   *   parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
   *   handler: (_ctx, { n }) => ({ twice: n * 2 }),
   * });
   * const tessera = await createTessera({ tools: [double] });
   * const call = await tessera.callTool(double, { n: 4 });
   * if (call.status === "success") console.log(call.result.twice + 1);
   * ```
   */
  callTool<Input, Output, Arguments>(
    tool: DefinedTool<Input, Output, Arguments>,
    ...call: Record<never, never> extends Arguments
      ? [args?: Arguments, options?: CallOptions]
      : [args: Arguments, options?: CallOptions]
  ): Promise<ToolCallAnswer<Awaited<Output>>>;
  callTool(name: string, args?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<ToolCallAnswer>;
  /** Address and key of the API that this process serves, for `@tessera/client`; null where it serves none. */
  readonly client: { readonly url: string; readonly apiKey: string } | null;
  /** The project that everything here is asked of. */
  readonly project: string;
  /** The entry of the swarm, or the only agent; null without one. */
  readonly entryAgent: string | null;
  /** How this process is, check by check: what `/health` of the API answers. */
  health(): Promise<Health>;
  /** Takes nothing new and gives what runs the grace; a second call gives none. What is not done goes on at the next start. */
  close(options?: StopOptions): Promise<void>;
}

const PROJECT_DEFAULT = "default";
const ROLES_DEFAULT = ROLES.filter((role) => role !== "api");

/**
 * Opens a store and everything that works on it inside this program: workers, tools, delegation. What is asked for is stored before it
 * is answered; a program that is killed and opens the same store again finds its turns, and they go on.
 *
 * ```ts
 * import { createTessera, defineAgent, defineModel, defineTool } from "@tessera/tessera";
 *
 * const forecast = defineTool({
 *   name: "weather__forecast",
 *   effect: "read",
 *   parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 *   handler: async (_ctx, { city }) => ({ city, text: "sunny" }),
 * });
 * const model = defineModel({ name: "gpt", provider: "openai", model: "gpt-5", apiKey: { valueFrom: { env: "OPENAI_API_KEY" } } });
 * const planner = defineAgent({ name: "planner", model, system: "You plan trips.", tools: [forecast] });
 *
 * const tessera = await createTessera({ data: "./store", tools: [forecast], models: [model], agents: [planner] });
 * const turn = await tessera.run({ input: "A weekend in Porto", idempotencyKey: "trip-17" });
 * console.log(turn.status, turn.deliverable);
 * await tessera.close();
 * ```
 *
 * It takes no signals and never ends the process by itself; settings are its options, and no `TESSERA_` variable counts.
 *
 * @throws {TesseraError} for what is wrong with the options, the store or the definitions, before anything is served
 */
export async function createTessera(options: TesseraOptions = {}): Promise<Tessera> {
  const { project = PROJECT_DEFAULT, roles = ROLES_DEFAULT, api, env = process.env } = options;
  const log = openLog(options.log ?? ((line) => void process.stderr.write(line)));
  const { models, agents, swarms } = options;
  const stopReporting = options.reportStrays === false ? () => undefined : reportStrayFailures(process);
  const opened = await openProcess({
    ...options,
    roles: typeof api === "object" ? [...roles, "api"] : roles,
    project,
    resources: { models, agents, swarms },
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
  const turnEnd = async (asked: AskedTurn, options: WaitOptions, expected?: DeliverableSchema<ToolParameters>) => {
    const turn = await orWaiting<TurnAnswer>(awaitTurn(node, project, asked, options), openTurn(asked));
    if (expected === undefined || turn.status !== "success") return turn;
    return { ...turn, deliverable: await expected.read(turn.deliverable, turn.agentTurnId) };
  };
  const named = (agent: string | null = entryAgent): string => {
    if (agent === null) throw errorOf("agent_not_found", "no agent is defined; give agents, a bundle, or a name");
    return agent;
  };
  const ask = async (request: RunRequest, expected?: DeliverableSchema<ToolParameters>): Promise<AskedTurn> => {
    checkOpen();
    refuseWireSpelling(request, REQUEST_FIELDS);
    const { input } = request;
    const agent = named(request.agent);
    const { agent_turn_id, agent_id } = await traceEnqueue({ agent_name: agent }, (trace) =>
      enqueueAgentTurn(kernel, ids, {
        ...wireOf(request, REQUEST_FIELDS),
        ...(expected === undefined ? {} : { deliverable_schema: expected.schema }),
        ...trace,
        project_id: project,
        agent,
        input,
      }),
    );
    return { agentTurnId: agent_turn_id, agentId: agent_id };
  };
  const run = async (request: RunRequest & WaitOptions & Partial<Deliver<ToolParameters>>) => {
    const expected = expectedOf(request);
    return await turnEnd(await ask(request, expected), request, expected);
  };
  const turn = async (agentTurnId: string, options: WaitOptions & Partial<Deliver<ToolParameters>> = {}) => {
    checkOpen();
    const expected = expectedOf(options);
    const row = await kernel.reads.turn(project, agentTurnId);
    return await turnEnd({ agentTurnId, agentId: String(row?.agent_id) }, { waitMs: 0, ...options }, expected);
  };
  const callTool = async (tool: string | RegisteredTool, args: unknown = {}, options: CallOptions = {}) => {
    checkOpen();
    refuseWireSpelling(options, CALL_FIELDS);
    const tool_name = typeof tool === "string" ? tool : tool.definition.tool_name;
    if ((await kernel.reads.tool(project, tool_name)) === null) {
      const hint = typeof tool === "string" ? "" : "; give it to createTessera({ tools })";
      throw errorOf("not_found", `there is no tool ${JSON.stringify(tool_name)} in project ${project}${hint}`);
    }
    const request = { ...wireOf(options, CALL_FIELDS), project_id: project, tool_name, arguments: args };
    const { agent_turn_id } = await traceEnqueue({ tool_name }, (trace) =>
      requestToolCall(kernel, ids, { ...request, ...trace }),
    );
    return await orWaiting<ToolCallAnswer>(
      awaitToolCall(node, project, agent_turn_id, options),
      openCall(agent_turn_id),
    );
  };
  return {
    project,
    entryAgent,
    client: clientOf(api),
    enqueue: async (request) => await ask(request, expectedOf(request)),
    run: run as Tessera["run"],
    turn: turn as Tessera["turn"],
    callTool: callTool as Tessera["callTool"],
    async stop(agentTurnId, reason) {
      checkOpen();
      const agent_turn_id = agentTurnId;
      const outcome = await kernel.stopTurn({ project_id: project, agent_turn_id, ...(reason && { reason }) });
      if (outcome.outcome === "accepted") return true;
      if (outcome.code === "not_found") throw errorOf("not_found", `there is no turn ${agent_turn_id}`);
      return false;
    },
    async reset(request = {}) {
      checkOpen();
      refuseWireSpelling(request, RESET_FIELDS);
      return await resetInstance(kernel, {
        ...wireOf(request, RESET_FIELDS),
        project_id: project,
        agent: named(request.agent),
      });
    },
    health,
    close(stopOptions) {
      isClosed = true;
      return close(stopOptions);
    },
  };
}

/** The fields of a request by their names in the contract. */
const REQUEST_FIELDS = {
  instanceKey: "instance_key",
  isFresh: "is_fresh",
  channelId: "channel_id",
  idempotencyKey: "idempotency_key",
  resultFields: "result_fields",
} as const;
const CALL_FIELDS = { agentId: "agent_id", channelId: "channel_id", idempotencyKey: "idempotency_key" } as const;
const RESET_FIELDS = { instanceKey: "instance_key", reason: "reason" } as const;

type Fields = Readonly<Record<string, string>>;
type WireOf<Request, Names extends Fields> = {
  readonly [Name in keyof Request & keyof Names as Names[Name]]: Exclude<Request[Name], undefined>;
};

/** A request may be handed on with the options of its wait; only the named fields go on. */
function wireOf<Request extends object, Names extends Fields>(request: Request, names: Names): WireOf<Request, Names> {
  const entries = Object.entries(names).map(([name, wire]) => [wire, request[name as keyof Request]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as WireOf<Request, Names>;
}

/** A program in plain JavaScript would otherwise lose an idempotency key without a word. */
function refuseWireSpelling(request: object, names: Fields): void {
  for (const [name, wire] of Object.entries(names)) {
    if (name !== wire && Object.hasOwn(request, wire)) {
      throw errorOf("bad_request", `there is no option ${wire}; it is written ${name}`, { details: { field: wire } });
    }
  }
}

function expectedOf({ deliverable }: Partial<Deliver<ToolParameters>>): DeliverableSchema<ToolParameters> | undefined {
  return deliverable === undefined ? undefined : deliverableSchema(deliverable);
}

function clientOf(api: Api | null): Tessera["client"] {
  return api === null ? null : { url: api.url, apiKey: api.key.text };
}
