// Calls that run where their turn runs: inline and isolated tools.
//
//   L1. All calls of a step run at once; their results are applied in call order, in one commit, when all are in.
//   L2. In a step that also has calls for others the head is suspended: each local call reports like any executor, with the
//       capability of its attempt.
//   L3. A call that lost its worker is run again only as its effect allows; the kernel has decided that already.

import type { JsonObject, LocalCall, ResumeOutcome, TurnHold } from "@tessera/kernel";
import { CALL_DEADLINE_MARGIN_MS, errorOf, TOOL_TIMEOUT_MS, type ToolResultContent } from "@tessera/protocol";
import { type ToolDefinition, toolPolicy } from "@tessera/tool";
import type { PlannedCall } from "@tessera/tool/catalog";
import { type LocalCallContext, type LocalCallOrder, localInvocation, runLocalCall } from "@tessera/tool/run";
import { resultCard } from "./step-cards.ts";
import type { TurnSession } from "./turn-session.ts";
import type { LoopWorld } from "./world.ts";

export interface CommittedStep {
  readonly step_id: string;
  readonly thought: { readonly card_id: string; readonly content: JsonObject };
  readonly calls: readonly (PlannedCall & { readonly capability: string | null })[];
  readonly committed_at: string;
}

interface Outcome {
  readonly tool_call_id: string;
  readonly content: ToolResultContent;
}

/** L1. False: the turn is no longer ours. */
export async function runStepLocals(session: TurnSession, step: CommittedStep): Promise<boolean> {
  const results = await Promise.all(step.calls.map((call) => runPlanned(session, step, call)));
  const names = new Map(step.calls.map(({ draft }) => [draft.tool_call_id, draft]));
  return await applyAll(session, step.step_id, results, names);
}

/** L2. Resolves when the local calls of the step have reported. */
export async function sendReportsOfLocals(session: TurnSession, step: CommittedStep): Promise<void> {
  await Promise.all(
    step.calls.map(async (call) => {
      if (!call.draft.local || call.capability === null) return;
      const outcome = await runPlanned(session, step, call);
      await report(session.world, session.turn, outcome, call.capability);
    }),
  );
}

/** Open local calls of an all-local step, given to this worker after another was lost. False: no longer ours. */
export async function runOpenLocals(session: TurnSession, calls: readonly LocalCall[]): Promise<boolean> {
  const { turn, world } = session;
  const step_id = turn.step_id ?? "";
  const thought = session.cards.find((card) => card.type === "agent.thought" && card.metadata.step_id === step_id);
  const message = {
    card_id: thought?.card_id ?? "",
    content: thought?.content,
    tool_calls: thought?.tool_calls,
    ...(thought === undefined ? {} : { created_at: thought.created_at }),
  };
  const settled = (turn.results ?? []).map((result) => ({
    tool_call_id: result.tool_call_id,
    content: result.content as unknown as ToolResultContent,
  }));
  const ran = await Promise.all(
    calls.map(async (call) => {
      const definition = await pinnedDefinition(world, turn.project_id, call);
      return { tool_call_id: call.tool_call_id, content: await run(session, { step_id, message }, call, definition) };
    }),
  );
  const names = new Map(calls.map((call) => [call.tool_call_id, { tool_name: call.tool_name, author_id: "" }]));
  return await applyAll(session, step_id, [...settled, ...ran], names);
}

/** Open local calls of a suspended step (L2) whose worker was lost. */
export async function runMixedLocals(
  world: LoopWorld,
  agent: { readonly project_id: string; readonly agent_id: string },
  outcome: Extract<ResumeOutcome, { outcome: "nothing" }>,
  stopping: AbortSignal,
): Promise<void> {
  await Promise.all(
    (outcome.local_calls ?? []).map(async (call) => {
      const row = await world.kernel.reads.call(agent.project_id, call.tool_call_id);
      if (row === null) return;
      const hold: TurnHold = { ...agent, agent_turn_id: String(row.agent_turn_id), turn_epoch: Number(row.turn_epoch) };
      const context: LocalCallContext = {
        ...hold,
        channel_id: String(row.channel_id),
        step_id: String(row.step_id),
        parent_step_id: row.parent_step_id === null ? null : String(row.parent_step_id),
        trace_id: String(row.trace_id),
        span_id: String(row.span_id),
        recursion_depth: Number(row.recursion_depth),
        message: { card_id: "", content: { text: "" }, tool_calls: [{ id: call.tool_call_id, name: call.tool_name }] },
      };
      const definition = await pinnedDefinition(world, agent.project_id, call);
      const content = await runInvocation(world, call, context, definition, stopping);
      await report(world, hold, { tool_call_id: call.tool_call_id, content }, outcome.capability);
    }),
  );
}

async function runPlanned(
  session: TurnSession,
  step: CommittedStep,
  { draft, refusal }: PlannedCall,
): Promise<Outcome> {
  const { tool_call_id } = draft;
  if (refusal !== undefined) return { tool_call_id, content: refusal };
  const tool = session.offered.find(({ definition }) => definition.tool_name === draft.tool_name);
  const message = {
    ...step.thought,
    tool_calls: step.calls.map((call) => ({ id: call.draft.tool_call_id, name: call.draft.tool_name })),
    created_at: step.committed_at,
  };
  const order: LocalCallOrder = { ...draft, attempt: 1, mode: "run" };
  const content = await run(session, { step_id: step.step_id, message }, order, tool?.definition ?? null);
  return { tool_call_id, content };
}

async function run(
  session: TurnSession,
  step: Pick<LocalCallContext, "step_id" | "message">,
  order: LocalCallOrder,
  definition: ToolDefinition | null,
): Promise<ToolResultContent> {
  const { turn, world } = session;
  const { channel_id, parent_step_id, trace_id, span_id, recursion_depth } = turn;
  const { project_id, agent_id, agent_turn_id, turn_epoch } = turn;
  const context: LocalCallContext = {
    ...{
      project_id,
      agent_id,
      agent_turn_id,
      turn_epoch,
      channel_id,
      parent_step_id,
      trace_id,
      span_id,
      recursion_depth,
    },
    ...step,
    agent_name: session.agentName,
    instance_key: session.instanceKey,
  };
  const call = (args: unknown) =>
    runInvocation(world, { ...order, arguments: args }, context, definition, session.signal);
  const wrapped = world.extensions?.aroundToolCall(session, { order, definition }, call);
  return await (wrapped ?? call(order.arguments));
}

async function runInvocation(
  world: LoopWorld,
  order: LocalCallOrder,
  context: LocalCallContext,
  definition: ToolDefinition | null,
  signal: AbortSignal,
): Promise<ToolResultContent> {
  const policy = definition === null ? null : toolPolicy(definition);
  return await runLocalCall(localInvocation(order, context, definition), {
    runner: world.runner,
    clock: world.clock,
    attemptsMax: policy?.attempts_max ?? 1,
    backoffMs: policy?.backoff_ms ?? 0,
    deadlineMs: (policy?.timeout_ms ?? TOOL_TIMEOUT_MS) + CALL_DEADLINE_MARGIN_MS,
    signal,
    runtime: world.runtimeFor({ ...context, tool_call_id: order.tool_call_id }, signal),
    ...(world.onLog === undefined ? {} : { onLog: world.onLog }),
    onProgress: (update) => world.onProgress?.(order.tool_call_id, update),
  });
}

/** Commit points C and D in one. What the kernel settled meanwhile keeps its outcome, so the cards are read back then. */
async function applyAll(
  session: TurnSession,
  step_id: string,
  results: readonly Outcome[],
  calls: ReadonlyMap<string, { readonly tool_name: string; readonly author_id: string }>,
): Promise<boolean> {
  const { world, turn } = session;
  if (session.signal.aborted) return false; // the lease lapses and each tool's effect decides
  const outcome = await world.kernel.applyResults({ ...turn, step_id, results });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return false;
    throw errorOf(outcome.code, "the results of the step could not be applied"); // or the turn would be held for ever
  }
  const written = outcome.outcome === "duplicate" ? [] : outcome.results;
  const created_at = (world.clock.databaseTime() ?? new Date()).toISOString();
  session.append(
    written.flatMap((each) => {
      const content = results.find((result) => result.tool_call_id === each.tool_call_id)?.content;
      const { tool_name = "", author_id = "" } = calls.get(each.tool_call_id) ?? {};
      if (content === undefined) return [];
      const call = { tool_call_id: each.tool_call_id, tool_name, author_id };
      const kept = { ...content, status: each.status, after_execution: each.after_execution };
      return [resultCard(turn, step_id, call, { card_id: each.tool_result_card_id, content: kept, created_at })];
    }),
  );
  return true;
}

async function report(world: LoopWorld, hold: TurnHold, { tool_call_id, content }: Outcome, capability: string) {
  const { project_id } = hold;
  const outcome = await world.kernel.report({
    project_id,
    tool_call_id,
    capability,
    content,
    principal: world.workerId(),
  });
  if (outcome.outcome === "rejected") world.onWarning(`the result of ${tool_call_id} was not taken: ${outcome.code}`);
}

async function pinnedDefinition(world: LoopWorld, projectId: string, call: LocalCall): Promise<ToolDefinition | null> {
  if (call.tool_digest === null) return null;
  const row = await world.kernel.reads.toolByDigest(projectId, call.tool_name, call.tool_digest);
  return row === null ? null : (row as unknown as ToolDefinition);
}
