// Calls that run where their turn runs: inline and isolated tools.
//
//   L1. All calls of a step run at once; their results are applied in call order, in one commit, when all are in.
//   L2. In a step that also has calls for others the head is suspended: each local call reports like any executor, with the
//       capability of its attempt.
//   L3. A call that lost its worker is run again only as its effect allows; the kernel has decided that already. What it
//       settled itself is applied like the rest, also where nothing is left to run: an open step can neither go on nor end.
//   L4. Each attempt has a runtime of its own: it names its operations from the first again (agent-runtime's R1), and what
//       it still waits for when it is over nobody wants.
//   L5. Once the turn was stopped, lost, or this process goes away nothing is reported: the call's effect decides.
//   L6. A result of a mixed step is reported until it is taken: nobody else knows it, and its call would wait for its
//       deadline while its worker lives.
//   L7. A step is left only when none of its calls runs any more: whoever takes the turn next may run them again.
//   L8. Calls whose turn an extension did not let through are not run: each is reported with the reason.
//   L9. A store that is away does not end a call that may be tried again here: its failure is known here and nowhere else, and
//       so are the results of the calls beside it. The worker's name that the call was taken under counts: a worker that goes
//       on under another one has lost it.

import {
  askPatiently,
  type JsonObject,
  type LocalCall,
  type ResumeOutcome,
  reportPatiently,
  shownTime,
} from "@tessera/kernel";
import {
  CALL_DEADLINE_MARGIN_MS,
  errorOf,
  TesseraError,
  TOOL_TIMEOUT_MS,
  type ToolResultContent,
} from "@tessera/protocol";
import { type RunFailure, type RunOptions, type ToolDefinition, type ToolRunner, toolPolicy } from "@tessera/tool";
import type { PlannedCall } from "@tessera/tool/catalog";
import { type LocalCallContext, type LocalCallOrder, localInvocation, runLocalCall } from "@tessera/tool/run";
import { refusedByLayer } from "../extensions/extension-host.ts";
import type { RuntimeCaller } from "../runtime/agent-runtime.ts";
import { activeSpanId, countResults } from "../telemetry/telemetry.ts";
import { resultCard } from "./step-cards.ts";
import { openSession, readBox, type TurnSession } from "./turn-session.ts";
import type { Turn, WorkerContext } from "./worker-context.ts";

export interface CommittedStep {
  readonly step_id: string;
  readonly thought: { readonly card_id: string; readonly content: JsonObject };
  readonly calls: readonly (PlannedCall & { readonly capability: string | null })[];
  readonly committed_at: string;
}

interface Ran {
  readonly content: ToolResultContent;
  /** Why it failed, for operators. */
  readonly stack?: string;
}

interface Outcome extends Ran {
  readonly tool_call_id: string;
}

/** L1. False: the turn is no longer ours. */
export async function runStepLocals(session: TurnSession, step: CommittedStep): Promise<boolean> {
  const results = await allEnded(step.calls.map((call) => runPlanned(session, step, call)));
  const names = new Map(step.calls.map(({ draft }) => [draft.tool_call_id, draft]));
  return await applyAll(session, step.step_id, results, names);
}

/** L2. Resolves when the local calls of the step have reported. */
export async function sendReportsOfLocals(session: TurnSession, step: CommittedStep): Promise<void> {
  await allEnded(
    step.calls.map(async (call) => {
      if (!call.draft.local || call.capability === null) return;
      const outcome = await runPlanned(session, step, call);
      if (!session.signal.aborted) await report(session, outcome, call.capability); // L5
    }),
  );
}

/** L3. The open step of a turn that another worker lost. False: no longer ours. */
export async function runOpenLocals(session: TurnSession, calls: readonly LocalCall[]): Promise<boolean> {
  const { turn, worker } = session;
  const step = stepOf(session);
  const settled = (turn.results ?? []).map((result) => ({
    tool_call_id: result.tool_call_id,
    content: result.content as unknown as ToolResultContent,
  }));
  const definitions = await Promise.all(calls.map((call) => pinnedDefinition(worker, turn.project_id, call)));
  const ran = await allEnded(
    calls.map(async (call, n) => ({
      tool_call_id: call.tool_call_id,
      ...(await run(session, step, call, definitions[n] ?? null)),
    })),
  );
  const open = [...(turn.results ?? []), ...calls];
  const names = new Map(open.map((call) => [call.tool_call_id, { tool_name: call.tool_name, author_id: "" }]));
  return await applyAll(session, step.step_id, [...settled, ...ran], names);
}

/** Open local calls of a suspended step (L2) whose worker was lost: run as they would have been, layers included. */
export async function runMixedLocals(
  worker: WorkerContext,
  agent: { readonly project_id: string; readonly agent_id: string },
  outcome: Extract<ResumeOutcome, { outcome: "nothing" }>,
  stopping: AbortSignal,
): Promise<void> {
  const calls = outcome.local_calls ?? [];
  const turn = calls.length === 0 ? null : await suspendedTurn(worker, agent, outcome);
  if (turn === null) return;
  let session: TurnSession;
  try {
    session = await openSession(worker, turn, stopping);
  } catch (error) {
    return await reportUnguarded({ worker, turn, signal: stopping }, calls, outcome.capability, error);
  }
  const step = stepOf(session);
  const runAll = () =>
    allEnded(
      calls.map(async (call) => {
        const definition = await pinnedDefinition(worker, agent.project_id, call);
        const ran = await run(session, step, call, definition);
        if (session.signal.aborted) return; // L5
        await report(session, { tool_call_id: call.tool_call_id, ...ran }, outcome.capability);
      }),
    ).then(() => null);
  try {
    await (worker.extensions === undefined ? runAll() : worker.extensions.aroundTurn(session, runAll));
  } catch (error) {
    if (session.signal.aborted) return; // L5
    await reportUnguarded(session, calls, outcome.capability, error);
  } finally {
    session.close();
  }
}

/** L8. Anything else than an extension's failure is thrown on. */
async function reportUnguarded(
  by: Pick<TurnSession, "worker" | "turn" | "signal">,
  calls: readonly LocalCall[],
  capability: string,
  error: unknown,
): Promise<void> {
  if (!TesseraError.is(error) || (error.code !== "extension_failed" && error.code !== "E_EXT_LOAD")) throw error;
  by.worker.onWarning(`calls of turn ${by.turn.agent_turn_id} were not run: ${error.message}`);
  const message = `${error.message}; the tool was not started`;
  await allEnded(
    calls.map((call) =>
      report(by, { tool_call_id: call.tool_call_id, content: refusedByLayer(call, message, {}) }, capability),
    ),
  );
}

/** A turn that waits, as it would be handed out if it could go on. */
async function suspendedTurn(
  { kernel }: WorkerContext,
  agent: { readonly project_id: string; readonly agent_id: string },
  outcome: Extract<ResumeOutcome, { outcome: "nothing" }>,
): Promise<Turn | null> {
  const row = outcome.agent_turn_id === null ? null : await kernel.reads.turn(agent.project_id, outcome.agent_turn_id);
  if (row === null) return null;
  return {
    ...(row as unknown as Turn),
    ...agent,
    outcome: "accepted",
    state: "resumed",
    turn_epoch: outcome.turn_epoch,
    step_id: typeof row.current_step_id === "string" ? row.current_step_id : null,
    after_execution: "suspend",
    results: null,
    local_calls: outcome.local_calls,
    capability: outcome.capability,
  };
}

/** The step that the session's turn is in, for an invocation's context. */
function stepOf(session: TurnSession): Pick<LocalCallContext, "step_id" | "message"> {
  const step_id = session.turn.step_id ?? "";
  const thought = session.cards.find((card) => card.type === "agent.thought" && card.metadata.step_id === step_id);
  return {
    step_id,
    message: {
      card_id: thought?.card_id ?? "",
      content: thought?.content,
      tool_calls: thought?.tool_calls,
      ...(thought === undefined ? {} : { created_at: thought.created_at }),
    },
  };
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
  return { tool_call_id, ...(await run(session, { step_id: step.step_id, message }, order, tool?.definition ?? null)) };
}

async function run(
  session: TurnSession,
  step: Pick<LocalCallContext, "step_id" | "message">,
  order: LocalCallOrder,
  definition: ToolDefinition | null,
): Promise<Ran> {
  const { turn, worker } = session;
  const { channel_id, parent_step_id, trace_id, recursion_depth } = turn;
  const span_id = activeSpanId() ?? turn.span_id;
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
    ...(session.workdir === null ? {} : { workdir: session.workdir }),
  };
  let failure: RunFailure | undefined;
  const onFailure = (told: RunFailure) => {
    failure = told;
  };
  const call = (args: unknown) =>
    runInvocation(worker, { ...order, arguments: args }, context, definition, { signal: session.signal, onFailure });
  const wrapped = worker.extensions?.aroundToolCall(session, { order, definition, onFailure }, call);
  const content = await (wrapped ?? call(order.arguments));
  return failure === undefined ? { content } : { content, stack: (failure as RunFailure).stack };
}

async function runInvocation(
  worker: WorkerContext,
  order: LocalCallOrder,
  context: LocalCallContext,
  definition: ToolDefinition | null,
  { signal, onFailure }: Required<Pick<RunOptions, "signal" | "onFailure">>,
): Promise<ToolResultContent> {
  const policy = definition === null ? null : toolPolicy(definition);
  return await runLocalCall(localInvocation(order, context, definition), {
    runner: withRuntime(worker, { ...context, tool_call_id: order.tool_call_id }),
    clock: worker.clock,
    attemptsMax: policy?.attempts_max ?? 1,
    backoffMs: policy?.backoff_ms ?? 0,
    deadlineMs: (policy?.timeout_ms ?? TOOL_TIMEOUT_MS) + CALL_DEADLINE_MARGIN_MS,
    mayRepeat: mayRepeat(worker, { project_id: context.project_id, tool_call_id: order.tool_call_id }, signal),
    signal,
    ...(worker.onLog === undefined ? {} : { onLog: worker.onLog }),
    onProgress: (update) => worker.onProgress?.(order.tool_call_id, update),
    onFailure,
  });
}

/** L9. False: the call was given to another worker while it paused, has ended, or is no longer wanted. */
function mayRepeat(
  { kernel, clock, workerId, onWarning }: WorkerContext,
  call: { readonly project_id: string; readonly tool_call_id: string },
  signal: AbortSignal,
): (attempt: number, failure?: RunFailure) => Promise<boolean> {
  const worker_id = workerId();
  return async (attempt, failure) => {
    const order = { ...call, worker_id, attempt, ...(failure === undefined ? {} : { stack: failure.stack }) };
    const answer = await askPatiently(() => kernel.repeatCall(order), {
      clock,
      signal,
      onFailure: (error) =>
        onWarning(`attempt ${attempt} of ${call.tool_call_id} waits for the store: ${String(error)}`),
    });
    return answer !== null && answer.outcome !== "rejected";
  };
}

/** L4 */
function withRuntime(worker: WorkerContext, caller: RuntimeCaller): ToolRunner {
  return {
    async run(invocation, options) {
      const over = new AbortController();
      const signal = AbortSignal.any([options.signal, over.signal]);
      try {
        return await worker.runner.run(invocation, { ...options, runtime: worker.runtimeFor(caller, signal) });
      } finally {
        over.abort();
      }
    },
    close: () => worker.runner.close(),
  };
}

/** Commit points C and D in one. What the kernel settled meanwhile keeps its outcome, so the cards are read back then. */
async function applyAll(
  session: TurnSession,
  step_id: string,
  results: readonly Outcome[],
  calls: ReadonlyMap<string, { readonly tool_name: string; readonly author_id: string }>,
): Promise<boolean> {
  const { worker, turn } = session;
  if (session.signal.aborted) return false; // the lease lapses and each tool's effect decides
  const outcome = await worker.kernel.applyResults({ ...turn, step_id, results });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "stale_epoch") return false;
    throw errorOf(outcome.code, "the results of the step could not be applied"); // or the turn would be held for ever
  }
  const written = outcome.outcome === "duplicate" ? [] : outcome.results;
  const said = new Map(results.map((result) => [result.tool_call_id, result.content]));
  const isAsSaid = written.length > 0 && written.every((each) => said.get(each.tool_call_id)?.status === each.status);
  const cards = isAsSaid ? written.flatMap(cardOf) : await storedResults(session, step_id);
  session.append(cards);
  countResults(cards);
  return true;

  function cardOf({ tool_call_id, tool_result_card_id: card_id, after_execution }: (typeof written)[number]) {
    const content = said.get(tool_call_id);
    const call = calls.get(tool_call_id);
    if (content === undefined || call === undefined) return [];
    const created_at = shownTime(worker.clock).toISOString();
    const result = { card_id, content: { ...content, after_execution }, created_at };
    return [resultCard(turn, step_id, { tool_call_id, ...call }, result)];
  }
}

async function storedResults({ worker, turn }: TurnSession, step_id: string) {
  const cards = await readBox(worker, turn.project_id, turn.output_box_id, turn.box_start);
  return cards.filter((card) => card.type === "tool.result" && card.metadata.step_id === step_id);
}

/** L6 */
async function report(
  session: Pick<TurnSession, "worker" | "turn" | "signal">,
  { tool_call_id, ...ran }: Outcome,
  capability: string,
): Promise<void> {
  const { worker, turn, signal } = session;
  const { clock, onWarning } = worker;
  const { outcome } = await reportPatiently(
    { project_id: turn.project_id, tool_call_id, capability, principal: worker.workerId(), ...ran },
    { port: worker.kernel, clock, signal, onWarning, afterExecution: ran.content.after_execution },
  );
  if (outcome?.outcome === "rejected") onWarning(`the result of ${tool_call_id} was not taken: ${outcome.code}`);
}

/** L7. All of them, or the first failure once none of them runs any more. */
async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const ended = await Promise.allSettled(work);
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return ended.map((each) => (each as PromiseFulfilledResult<T>).value);
}

async function pinnedDefinition(
  worker: WorkerContext,
  projectId: string,
  call: LocalCall,
): Promise<ToolDefinition | null> {
  if (call.tool_digest === null) return null;
  const row = await worker.kernel.reads.toolByDigest(projectId, call.tool_name, call.tool_digest);
  return row === null ? null : (row as unknown as ToolDefinition);
}
