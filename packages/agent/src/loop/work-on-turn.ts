// Takes an agent's turn as far forward as it can go now: until it ends, waits for others, or is no longer ours.
//
//   T1. What the last commit left decides what to do, so a crashed turn needs no memory of its worker: open local calls are
//       run, a step whose results are all in is followed by the next one, a result that terminates ends the turn.
//   T2. Every write is fenced by turn and epoch. A refused one means that the turn is somebody else's: stop, say nothing.
//   T3. A turn always ends: by an answer, a terminating tool, its step limit, or a failure with a code.

import { isStorageError, unwatched } from "@tessera/kernel";
import { errorOf, TesseraError } from "@tessera/protocol";
import { stackOf } from "@tessera/tool/run";
import { countResumed, traceTurn } from "../telemetry/telemetry.ts";
import { nextCallOf } from "./call-order.ts";
import { type Ending, endingByDriver, endingByResults, endingBySteps, failTurn, finishWith } from "./finish-turn.ts";
import { lastStepOf } from "./last-step.ts";
import { runMixedLocals, runOpenLocals } from "./local-calls.ts";
import { takeStep } from "./take-step.ts";
import { openSession, type TurnSession } from "./turn-session.ts";
import type { Turn, WorkerContext } from "./worker-context.ts";

/** Answers `accepted`, `nothing`, or why the agent could not be taken. */
export async function workOnTurn(
  worker: WorkerContext,
  agent: { readonly project_id: string; readonly agent_id: string; readonly reclaim?: boolean },
  stopping: AbortSignal,
): Promise<string> {
  const worker_id = worker.workerId();
  const outcome = await worker.kernel.resume({ ...agent, worker_id });
  if (outcome.outcome === "rejected") {
    if (outcome.code === "worker_lapsed") throw stillInDoubt(agent.agent_id);
    if (outcome.code !== "not_found")
      worker.onWarning(`agent ${agent.agent_id} was not taken forward: ${outcome.code}`);
    return outcome.code;
  }
  const run = () =>
    outcome.outcome === "nothing"
      ? runMixedLocals(worker, agent, outcome, stopping)
      : runInSession(worker, outcome, stopping);
  const { agent_turn_id, local_calls } = outcome;
  // Calls that run here are not new to a worker that is just given the turn: one before it was lost.
  const isSuspect = (local_calls ?? []).length > 0 || (outcome.outcome === "accepted" && outcome.crash_count > 0);
  const { whileAtWork = unwatched } = worker;
  await (agent_turn_id === null ? run() : whileAtWork({ agent_turn_id, worker_id, isSuspect }, run));
  return outcome.outcome;
}

async function runInSession(worker: WorkerContext, outcome: Turn, stopping: AbortSignal): Promise<void> {
  let session: TurnSession;
  try {
    session = await openSession(worker, outcome, stopping);
  } catch (error) {
    await failOrThrow(worker, outcome, error); // nothing of it can be read: it would crash every worker
    return;
  }
  const run = () => runTurn(session, outcome);
  const { extensions } = worker;
  try {
    await traceTurn(outcome, {
      agentName: session.agentName,
      parentOf: async () =>
        (await worker.kernel.reads.turn(outcome.project_id, outcome.agent_turn_id))?.parent_traceparent,
      work: async () => {
        const ending = await (extensions === undefined ? run() : extensions.aroundTurn(session, run));
        if (ending !== null) await finishWith(session, ending);
      },
    });
  } catch (error) {
    if (session.signal.aborted) return; // T2: stopped, lost, or going away
    await failOrThrow(worker, outcome, error); // T3
  } finally {
    session.close();
  }
}

/** How the turn is to end; null: it waits, or is no longer ours. */
async function runTurn(session: TurnSession, taken: Turn): Promise<Ending | null> {
  if (taken.state === "resumed") countResumed(session.cards);
  // A step that lost its worker: what is open is run, and what the kernel settled meanwhile is applied, even if that is all.
  const isStepOpen =
    (taken.local_calls ?? []).length > 0 || (taken.state === "started" && (taken.results ?? []).length > 0);
  if (isStepOpen) {
    const isOurs = await runOpenLocals(session, taken.local_calls ?? []);
    if (!isOurs) return null;
  }
  for (;;) {
    if (session.signal.aborted || session.worker.isDraining()) return null; // the next worker goes on from here
    const last = lastStepOf(session.cards);
    const end = last.steps === 0 ? null : (session.worker.driver?.endOf(last, session) ?? null);
    if (end !== null) return endingByDriver(session, end);
    if (last.afterExecution === "terminate") return endingByResults(session, last.results);
    const areCallsLeft = nextCallOf(session.cards) !== null;
    if (last.steps >= session.profile.max_steps && !areCallsLeft) return endingBySteps(session);
    if (!areCallsLeft && session.hasAnswers() && !(await takeAnswers(session))) return null;
    const step = await takeStep(session, last.steps);
    if (typeof step === "object") return step;
    if (step !== "next") return null;
  }
}

/** False: the turn is no longer ours. */
async function takeAnswers(session: TurnSession): Promise<boolean> {
  const outcome = await session.worker.kernel.takeAnswers(session.turn);
  if (outcome.outcome === "accepted") session.append(outcome.cards);
  else if (outcome.code !== "stale_epoch") throw errorOf(outcome.code, "the answers that came in could not be taken");
  return outcome.outcome === "accepted";
}

/** The worker's lease has run out; renewed before anybody notices, it holds what it held (agent-worker's W4). That may be more
 *  than it knows of: the kernel repeats a question whose answer was lost, and only the repetition was refused. */
function stillInDoubt(agentId: string): TesseraError {
  return errorOf(
    "worker_lapsed",
    `it is unknown whether this worker holds a turn of ${agentId}: its lease has expired`,
  );
}

/** What the store could not do may be done later; everything else ends the turn, with a code. The stack is for operators. */
async function failOrThrow(worker: WorkerContext, turn: Turn, error: unknown): Promise<void> {
  if (isStorageError(error)) throw error;
  if (TesseraError.is(error)) {
    // What an extension threw is in the log already. Whatever else is behind a code of ours may hold what nobody should see.
    const isExtension = error.code === "extension_failed" || error.code === "E_EXT_LOAD";
    return await failTurn(
      worker,
      turn,
      error,
      isExtension && error.cause !== undefined ? stackOf(error.cause) : undefined,
    );
  }
  const stack = stackOf(error);
  worker.onWarning(`turn ${turn.agent_turn_id} failed: ${stack}`);
  await failTurn(worker, turn, new TesseraError("internal_error", "the worker failed while it ran the turn"), stack);
}
