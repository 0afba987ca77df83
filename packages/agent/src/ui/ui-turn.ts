// The turn of a UI action, taken as far forward as it can go now: one call, then its result, then the last acknowledgement.
//
//   T1. What the last commit left decides what to do, so a worker that died is followed by any other: nothing yet → commit
//       the call; a local call without a result → run it; a result → finish.
//   T2. Every write is fenced by turn and epoch. A refused one means that the turn is somebody else's: stop, say nothing.
//   T3. The acknowledgement is kept in the deliverable and published after that commit: one that is lost is given again to
//       whoever repeats the action.
//   T4. The call waits no longer than its tool's limit (docs/protocol/turns.md#ui-actions): the kernel keeps its deadline.
//   T5. The UI worker has no extensions, so an agent that lists one that must not be skipped runs nothing here (E_EXT_LOAD).

import {
  type CardDocument,
  isStorageError,
  type LocalCall,
  type ResumeOutcome,
  unwatched,
  watchTurn,
} from "@tessera/kernel";
import {
  CALL_DEADLINE_MARGIN_MS,
  type ErrorCode,
  errorOf,
  isJsonObject,
  type JsonObject,
  readCallerFacts,
  TOOL_TIMEOUT_MS,
  type ToolResultContent,
} from "@tessera/protocol";
import { type RunFailure, type ToolDefinition, toolPolicy } from "@tessera/tool";
import { type PlannedCall, planCalls } from "@tessera/tool/catalog";
import { type LocalCallContext, type LocalCallOrder, localInvocation, runLocalCall, stackOf } from "@tessera/tool/run";
import { requireNone } from "../extensions/extension-host.ts";
import { mayRepeat } from "../loop/may-repeat.ts";
import { profileIn } from "../loop/turn-session.ts";
import { stillInDoubt } from "../loop/work-on-turn.ts";
import { createAgentRuntime } from "../runtime/agent-runtime.ts";
import { ackMessage, type UiAck } from "./ui-action.ts";
import { isUiAllowed } from "./ui-admission.ts";
import type { UiWorld } from "./ui-world.ts";

type Turn = Extract<ResumeOutcome, { outcome: "accepted" }>;
type Wanted = {
  readonly action_id: string;
  readonly tool_name: string;
  readonly args: JsonObject;
  readonly message_id?: string;
};
type Run = UiWorld & { readonly signal: AbortSignal };
/** What a call gave, and why it failed, for operators. */
type Ran = { readonly content: ToolResultContent; readonly stack?: string };

/** Marks the card of a call that was refused before anything ran. */
const REFUSED_KEY = "ui_refused";

export async function workOnUiTurn(
  world: UiWorld,
  agent: { readonly project_id: string; readonly agent_id: string; readonly reclaim?: boolean },
  stopping: AbortSignal,
): Promise<void> {
  const worker_id = world.workerId();
  const turn = await world.kernel.resume({ ...agent, worker_id });
  if (turn.outcome === "rejected" && turn.code !== "not_found") {
    if (turn.code === "worker_lapsed") throw stillInDoubt(agent.agent_id);
    world.onWarning(`the action of ${agent.agent_id} was not taken forward: ${turn.code}`);
  }
  if (turn.outcome !== "accepted") return;
  const watch = watchTurn(turn, { ...world, stopping });
  try {
    const { whileAtWork = unwatched } = world;
    const atWork = { agent_turn_id: turn.agent_turn_id, worker_id, isSuspect: turn.crash_count > 0 };
    await whileAtWork(atWork, () => takeForward({ ...world, signal: watch.signal }, turn));
  } catch (error) {
    if (watch.signal.aborted) return; // T2
    if (isStorageError(error)) throw error;
    const stack = stackOf(error);
    world.onWarning(`the action of ${agent.agent_id} failed: ${stack}`);
    await finishWithout(world, turn, "internal_error", "the worker failed while it ran the action", stack);
  } finally {
    watch.release();
  }
}

/** T1 */
async function takeForward(world: Run, turn: Turn): Promise<void> {
  const mistake = await unguarded(world, turn);
  const isRunning = turn.local_calls !== null && turn.local_calls.length > 0;
  if (isRunning && mistake === null) return await runAgain(world, turn, turn.local_calls ?? []);
  const cards = await cardsOf(world, turn);
  if (cards.some((card) => card.type === "tool.result")) return await finishWith(world, turn, cards);
  if (mistake !== null) return await finishWithout(world, turn, "E_EXT_LOAD", mistake);
  const wanted = wantedOf(turn);
  if (wanted === null) return await finishWithout(world, turn, "bad_request", "a turn of this agent is a UI action");
  await begin(world, turn, wanted);
}

/** T5. Why the agent's tools may not run here; null: they may. */
async function unguarded(world: Run, turn: Turn): Promise<string | null> {
  const profile = await profileIn(world, turn);
  try {
    if (profile !== null) requireNone(profile);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function begin(world: Run, turn: Turn, wanted: Wanted): Promise<void> {
  const { kernel, ids } = world;
  const step_id = ids.mint("step");
  const project = await world.tools.catalogOf(turn.project_id);
  const tool = project.get(wanted.tool_name);
  const allowed = tool !== undefined && isUiAllowed(tool) ? [tool] : []; // as it is now, whoever asked for the turn
  const [planned] = planCalls([{ id: wanted.action_id, name: wanted.tool_name, arguments: wanted.args }], {
    catalog: { get: () => allowed[0], list: () => allowed },
    vars: { ...turn, step_id },
    mintCallId: () => ids.mint("tc"),
    isHosted: ({ definition }) => world.isHosted(definition.tool_name),
    digestOf: (definition) => world.tools.digestOf(definition),
  });
  if (planned === undefined) throw new Error("one request gives one planned call");
  const { draft, refusal } = planned;
  const metadata = refusal === undefined ? draft.metadata : { ...draft.metadata, [REFUSED_KEY]: refusalCode(refusal) };
  const thought = { card_id: ids.mint("card"), content: { text: "" } };
  const commit = (id: string) =>
    kernel.suspendOnCalls({ ...turn, step_id, thought, calls: [{ ...draft, tool_call_id: id, metadata }] as never });
  let tool_call_id = draft.tool_call_id;
  let outcome = await commit(tool_call_id);
  if (outcome.outcome === "rejected" && outcome.code === "conflict") {
    const isOurs = (await kernel.reads.call(turn.project_id, tool_call_id)) !== null;
    if (isOurs) return await finishWithout(world, turn, "dispatch_failed", "another call has this action id");
    // Call ids are unique in the world, and another project has used this action id.
    tool_call_id = ids.mint("tc");
    outcome = await commit(tool_call_id);
  }
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return; // T2
    return await finishWithout(world, turn, "dispatch_failed", `the call was refused: ${outcome.code}`);
  }
  if (!draft.local) return; // the report wakes this agent
  const message = {
    ...thought,
    tool_calls: [{ id: tool_call_id, name: draft.tool_name }],
    ...(outcome.committed_at === undefined ? {} : { created_at: outcome.committed_at }),
  };
  const definition = tool?.definition ?? null;
  const order = orderOf({ ...planned, draft: { ...draft, tool_call_id } });
  const ran =
    refusal === undefined ? await run(world, turn, order, { step_id, message }, definition) : { content: refusal };
  await apply(world, turn, step_id, { tool_call_id, ...ran });
}

/** A local call whose worker was lost, given again with what its effect allows. */
async function runAgain(world: Run, turn: Turn, [call]: readonly LocalCall[]): Promise<void> {
  if (call === undefined) return;
  const step_id = turn.step_id ?? "";
  const cards = await cardsOf(world, turn);
  const thought = cards.find((card) => card.type === "agent.thought");
  const message = {
    card_id: thought?.card_id ?? "",
    content: thought?.content,
    tool_calls: thought?.tool_calls,
    ...(thought === undefined ? {} : { created_at: thought.created_at }),
  };
  const { tool_name, tool_digest } = call;
  const row =
    tool_digest === null ? null : await world.kernel.reads.toolByDigest(turn.project_id, tool_name, tool_digest);
  const ran = await run(world, turn, call, { step_id, message }, row as ToolDefinition | null);
  await apply(world, turn, step_id, { tool_call_id: call.tool_call_id, ...ran });
}

async function run(
  world: Run,
  turn: Turn,
  order: LocalCallOrder,
  step: Pick<LocalCallContext, "step_id" | "message">,
  definition: ToolDefinition | null,
): Promise<Ran> {
  const { kernel, clock, signal } = world;
  const { project_id, agent_id, agent_turn_id, turn_epoch, channel_id, trace_id, span_id } = turn;
  const { parent_step_id, recursion_depth } = turn;
  const lineage = { channel_id, parent_step_id, trace_id, span_id, recursion_depth };
  const roster = await kernel.reads.agent(project_id, agent_id);
  const who = readCallerFacts(roster?.metadata);
  const context: LocalCallContext = { project_id, agent_id, agent_turn_id, turn_epoch, ...lineage, ...step, ...who };
  const policy = definition === null ? null : toolPolicy(definition);
  const caller = { ...context, tool_call_id: order.tool_call_id };
  let failure: RunFailure | undefined;
  const content = await runLocalCall(localInvocation(order, context, definition), {
    runner: world.runner,
    clock,
    attemptsMax: policy?.attempts_max ?? 1,
    backoffMs: policy?.backoff_ms ?? 0,
    deadlineMs: (policy?.timeout_ms ?? TOOL_TIMEOUT_MS) + CALL_DEADLINE_MARGIN_MS,
    mayRepeat: mayRepeat(world, { project_id, tool_call_id: order.tool_call_id }, signal),
    signal,
    runtime: createAgentRuntime({ kernel, clock, caller, signal }),
    ...(world.onLog === undefined ? {} : { onLog: world.onLog }),
    onProgress: (update) => world.onProgress?.(order.tool_call_id, update),
    onFailure: (told) => {
      failure = told;
    },
  });
  return failure === undefined ? { content } : { content, stack: (failure as RunFailure).stack };
}

async function apply(world: Run, turn: Turn, step_id: string, result: Ran & { readonly tool_call_id: string }) {
  if (world.signal.aborted) return; // the lease lapses and the tool's effect decides
  const outcome = await world.kernel.applyResults({ ...turn, step_id, results: [result] });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return; // T2
    throw errorOf(outcome.code, "the result of the action could not be applied");
  }
  await finishWith(world, turn, await cardsOf(world, turn)); // the deadline may have settled the call first
}

async function finishWith(world: UiWorld, turn: Turn, cards: readonly CardDocument[]): Promise<void> {
  const card = cards.find((each) => each.type === "tool.result");
  const content = card?.content as unknown as ToolResultContent;
  const refused = cards.find((each) => each.type === "tool.call")?.metadata[REFUSED_KEY];
  const error: Pick<UiAck, "error_code" | "error"> =
    content.error === null ? {} : { error_code: content.error.code as ErrorCode, error: content.error.message };
  const ack: UiAck =
    typeof refused === "string"
      ? { ...error, status: "rejected", error_code: refused as ErrorCode }
      : { ...error, status: "done", result_status: content.status, tool_result_card_id: card?.card_id ?? "" };
  await finish(world, turn, ack, content);
}

/** The action ended and no tool ran. */
async function finishWithout(
  world: UiWorld,
  turn: Turn,
  code: ErrorCode,
  message: string,
  stack?: string,
): Promise<void> {
  await finish(world, turn, { status: "rejected", error_code: code, error: message }, null, stack);
}

/** T3 */
async function finish(
  world: UiWorld,
  turn: Turn,
  ack: UiAck,
  content: ToolResultContent | null,
  stack?: string,
): Promise<void> {
  const wanted = wantedOf(turn);
  const data = { status: content?.status ?? "failed", result: content?.result ?? null, error: content?.error ?? null };
  const message = wanted === null ? [] : [ackMessage({ ...turn, ...wanted }, ack, world.ids)];
  const outcome = await world.kernel.finishTurn(
    {
      ...turn,
      status: data.status,
      deliverable: { card_id: world.ids.mint("card"), content: { data: { ...data, ui_ack: { ...ack } } } as never },
      ...(ack.error_code === undefined ? {} : { error_code: ack.error_code }),
      ...(ack.error === undefined ? {} : { error_message: ack.error }),
      ...(stack === undefined ? {} : { stack }),
    },
    message,
  );
  if (outcome.outcome === "rejected" && outcome.code !== "stale_epoch") {
    throw errorOf(outcome.code, "the turn of the action could not be finished");
  }
}

async function cardsOf({ kernel }: UiWorld, turn: Turn): Promise<CardDocument[]> {
  return await kernel.reads.boxCards(turn.project_id, turn.output_box_id, { from: turn.box_start });
}

function wantedOf({ runtime_config }: Turn): Wanted | null {
  const wanted = isJsonObject(runtime_config) ? runtime_config.ui_action : null;
  return isJsonObject(wanted) ? (wanted as unknown as Wanted) : null;
}

function orderOf({ draft }: PlannedCall): LocalCallOrder {
  return { ...draft, attempt: 1, mode: "run" };
}

/** What was allowed when the action came, and is not any more. */
function refusalCode({ error }: ToolResultContent): ErrorCode {
  if (error?.code === "tool_not_in_catalog") return "ui_not_allowed";
  return error?.code === "bad_request" ? "invalid_args" : "dispatch_failed";
}
