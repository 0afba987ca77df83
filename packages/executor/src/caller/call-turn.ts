// One turn that is one tool call, taken as far forward as it can go now.
//
//   W1. Every write is fenced by the turn's epoch: a stale worker's answers change nothing, and it stops.
//   W2. What the last commit left decides what to do: nothing yet → plan; a local call without a result → run it; results
//       applied → finish.

import type { AppliedResult, LocalCall, ResumeOutcome } from "@tessera/kernel";
import { isJsonObject, type ToolResultContent } from "@tessera/protocol";
import { type JsonObject, type ToolDefinition, toolPolicy } from "@tessera/tool";
import { type PlannedCall, planCalls, type ToolCatalog } from "@tessera/tool/catalog";
import { type LocalCallContext, localInvocation, runLocalCall } from "../calls/local-call.ts";
import type { ProjectTools } from "./project-tools.ts";
import type { ToolCallerOptions } from "./tool-caller.ts";

type Turn = Extract<ResumeOutcome, { outcome: "accepted" }>;
type World = ToolCallerOptions & {
  readonly tools: ProjectTools;
  readonly onWarning: (warning: string) => void;
  readonly signal: AbortSignal;
};

export async function workOnTurn(world: World, agent: { project_id: string; agent_id: string }): Promise<void> {
  const { kernel, workerId } = world;
  const outcome = await kernel.resume({ ...agent, worker_id: workerId });
  if (outcome.outcome !== "accepted") return; // nothing to do, or somebody else does it
  const applied = outcome.results ?? (await resultsInBox(world, outcome));
  if (outcome.local_calls !== null && outcome.local_calls.length > 0) {
    await runAgain(world, outcome, outcome.local_calls, applied);
  } else if (applied.length > 0) {
    await finish(world, outcome, contentOf(applied[0]));
  } else {
    await begin(world, outcome);
  }
}

/** Commit point A; a local call is run at once. */
async function begin(world: World, turn: Turn): Promise<void> {
  const { kernel, ids } = world;
  const wanted = isJsonObject(turn.runtime_config) ? turn.runtime_config.tool_call : null;
  const request = isJsonObject(wanted) ? wanted : {};
  const catalog = await world.tools.catalogOf(turn.project_id);
  const step_id = ids.mint("step");
  const planned = planCalls([{ name: String(request.name ?? ""), arguments: request.arguments ?? {} }], {
    catalog,
    vars: { ...varsOf(turn), step_id },
    mintCallId: () => ids.mint("tc"),
    isHosted: ({ definition }) => world.isHosted(definition.tool_name),
    digestOf: (definition) => world.tools.digestOf(definition),
  })[0];
  if (planned === undefined) throw new Error("one request gives one planned call");
  const thought = ids.mint("card");
  const outcome = await kernel.suspendOnCalls({
    ...turn,
    step_id,
    thought: { card_id: thought, content: { text: "" } },
    calls: [planned.draft],
  });
  if (outcome.outcome === "rejected") return world.onWarning(`the call was not committed: ${outcome.code}`);
  if (!planned.draft.local) return; // the report wakes this agent
  const message = {
    card_id: thought,
    content: { text: "" },
    tool_calls: [{ id: planned.draft.tool_call_id, name: planned.draft.tool_name }],
    ...(outcome.committed_at === undefined ? {} : { created_at: outcome.committed_at }),
  };
  const content = planned.refusal ?? (await run(world, turn, { planned, step_id, message }, catalog));
  await apply(world, turn, step_id, [{ tool_call_id: planned.draft.tool_call_id, content }]);
}

async function run(
  world: World,
  turn: Turn,
  call: { planned: PlannedCall; step_id: string; message: LocalCallContext["message"] },
  catalog: ToolCatalog,
): Promise<ToolResultContent> {
  const { draft } = call.planned;
  const definition = catalog.get(draft.tool_name)?.definition ?? null;
  const local = {
    tool_call_id: draft.tool_call_id,
    tool_name: draft.tool_name,
    effect: draft.effect ?? "once",
    after_execution: draft.after_execution ?? "suspend",
    attempt: 1,
    mode: "run" as const,
    arguments: draft.arguments,
  };
  return await runPlanned(world, turn, call, local, definition);
}

/** Local calls whose worker was lost are given again, each with what its effect allows. */
async function runAgain(world: World, turn: Turn, calls: readonly LocalCall[], applied: readonly AppliedResult[]) {
  const step_id = turn.step_id ?? "";
  const cards = await world.kernel.reads.boxCards(turn.project_id, turn.output_box_id, { from: turn.box_start });
  const thought = cards.find((card) => card.type === "agent.thought" && card.metadata.step_id === step_id);
  const message = {
    card_id: thought?.card_id ?? "",
    content: thought?.content,
    tool_calls: thought?.tool_calls,
    ...(thought === undefined ? {} : { created_at: thought.created_at }),
  };
  const results = applied.map((result) => ({ tool_call_id: result.tool_call_id, content: contentOf(result) }));
  for (const call of calls) {
    const { tool_name, tool_digest } = call;
    const row = tool_digest && (await world.kernel.reads.toolByDigest(turn.project_id, tool_name, tool_digest));
    const definition = row ? (row as unknown as ToolDefinition) : null;
    const content = await runPlanned(world, turn, { step_id, message }, call, definition);
    results.push({ tool_call_id: call.tool_call_id, content });
  }
  await apply(world, turn, step_id, results);
}

async function runPlanned(
  world: World,
  turn: Turn,
  { step_id, message }: { step_id: string; message: LocalCallContext["message"] },
  call: Parameters<typeof localInvocation>[0],
  definition: ToolDefinition | null,
): Promise<ToolResultContent> {
  const { channel_id, parent_step_id, trace_id, span_id, recursion_depth, project_id, agent_id, agent_turn_id } = turn;
  const lineage = { channel_id, parent_step_id, trace_id, span_id, recursion_depth, step_id };
  const hold = { project_id, agent_id, agent_turn_id, turn_epoch: turn.turn_epoch };
  const policy = definition === null ? null : toolPolicy(definition);
  return await runLocalCall(localInvocation(call, { ...hold, ...lineage, message }, definition), {
    runner: world.runner,
    clock: world.clock,
    attemptsMax: policy?.attempts_max ?? 1,
    backoffMs: policy?.backoff_ms ?? 0,
    signal: world.signal,
    ...(world.runtime === undefined ? {} : { runtime: world.runtime }),
    ...(world.onLog === undefined ? {} : { onLog: world.onLog }),
    onProgress: (update) => world.onProgress?.(call.tool_call_id, update),
  });
}

async function apply(
  world: World,
  turn: Turn,
  step_id: string,
  results: readonly { readonly tool_call_id: string; readonly content: ToolResultContent }[],
): Promise<void> {
  if (world.signal.aborted) return; // going away: the lease lapses and the tool's effect decides
  const outcome = await world.kernel.applyResults({ ...turn, step_id, results });
  if (outcome.outcome === "rejected") return world.onWarning(`the result was not applied: ${outcome.code}`);
  const [kept] = await resultsInBox(world, turn); // the deadline may have settled the call first
  if (kept !== undefined) await finish(world, turn, contentOf(kept));
}

async function finish(world: World, turn: Turn, content: ToolResultContent): Promise<void> {
  const data = { status: content.status, result: content.result, error: content.error } as unknown as JsonObject;
  const outcome = await world.kernel.finishTurn({
    ...turn,
    status: content.status,
    deliverable: { card_id: world.ids.mint("card"), content: { data } },
    ...(content.error === null ? {} : { error_code: content.error.code, error_message: content.error.message }),
  });
  if (outcome.outcome === "rejected") world.onWarning(`the tool call's turn was not finished: ${outcome.code}`);
}

/** Of this turn, for a worker that comes after the results were applied. */
async function resultsInBox({ kernel }: World, turn: Turn): Promise<AppliedResult[]> {
  const cards = await kernel.reads.boxCards(turn.project_id, turn.output_box_id, { from: turn.box_start });
  return cards.filter((card) => card.type === "tool.result") as unknown as AppliedResult[];
}

function contentOf(result: Pick<AppliedResult, "content"> | undefined): ToolResultContent {
  return result?.content as unknown as ToolResultContent;
}

function varsOf(turn: Turn) {
  const { project_id, channel_id, agent_id, agent_turn_id, turn_epoch, parent_step_id, trace_id } = turn;
  return {
    project_id,
    channel_id,
    agent_id,
    agent_turn_id,
    turn_epoch,
    parent_step_id,
    trace_id,
    context_box_id: turn.context_box_id,
  };
}
