// What a scripted turn does: its steps, and the calls of each. The plan travels in the turn's metadata, so that any
// worker in any process can take the turn on, and every id follows from it, so that a step is never made twice.

import type { CallDraft, Effect, Kernel } from "@tessera/kernel";
import type { ReadonlyJsonObject } from "@tessera/protocol";

type Behaviour =
  /** Acts, then reports its result. */
  | "answer"
  /** Acts, saves a result card, then reports a pointer to it. */
  | "pointer"
  /** Never ends by itself; its heartbeat tells it to stop. */
  | "hang";

export interface PlannedCall {
  /** The target of the tool; a local call names it too. */
  readonly tool: string;
  readonly effect: Effect;
  readonly behave?: Behaviour;
  /** How long the tool works before it acts. */
  readonly workMs?: number;
  readonly local?: boolean;
  /** The tool can say what a lost attempt did. */
  readonly canReconcile?: boolean;
}

export interface PlannedStep {
  readonly calls: readonly PlannedCall[];
  /** A card is appended before the calls are made. */
  readonly hasNote?: boolean;
  /** A turn that is asked for before the calls are made, and is not waited for. */
  readonly asks?: Pick<PlannedTurn, "agent_id" | "agent_turn_id">;
  /** The calls are made when the answer of such a turn has been taken. */
  readonly takesAnswer?: boolean;
}

export interface PlannedTurn {
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly steps: readonly PlannedStep[];
  /** Another turn asks for it. */
  readonly isAsked?: boolean;
}

/** The arguments of every scripted call. */
export interface ScriptedArguments extends ReadonlyJsonObject {
  readonly behave: Behaviour;
  readonly work_ms: number;
}

export const WORKER_TARGET = "scripted";
/** Deadlines are not what these tests are about: faults must heal long before one passes. */
const TIMEOUT_MS = 600_000;

export function stepId(turnId: string, step: number): string {
  return `${turnId}_s${step}`;
}

function callId(turnId: string, step: number, call: number): string {
  return `${turnId}_s${step}c${call}`;
}

/** Every call the turn makes when nothing stops it. */
export function callIdsOf(turn: PlannedTurn): string[] {
  return turn.steps.flatMap((step, s) => step.calls.map((_, c) => callId(turn.agent_turn_id, s, c)));
}

export function subjectOf(project: string, tool: string): string {
  return `cg.v1r4.${project}.public.cmd.tool.${tool}.run`;
}

export function draftOf(project: string, turnId: string, step: number, call: number, planned: PlannedCall): CallDraft {
  const args: ScriptedArguments = { behave: planned.behave ?? "answer", work_ms: planned.workMs ?? 0 };
  return {
    tool_call_id: callId(turnId, step, call),
    tool_name: `${planned.tool}__run`,
    arguments: args,
    target_subject: subjectOf(project, planned.tool),
    author_id: `tool.${planned.tool}`,
    effect: planned.effect,
    local: planned.local ?? false,
    can_reconcile: planned.canReconcile ?? false,
    attempts_max: 5,
    timeout_ms: TIMEOUT_MS,
  };
}

export async function registerAgents(kernel: Kernel, project: string, agents: readonly string[]): Promise<void> {
  await kernel.putProject({ project_id: project });
  await Promise.all(
    agents.map(async (agent) => {
      await kernel.putBox({ project_id: project, box_id: `${agent}_profile` });
      await kernel.putAgent({
        project_id: project,
        agent_id: agent,
        worker_target: WORKER_TARGET,
        profile_box_id: `${agent}_profile`,
      });
    }),
  );
}

/** Asking again for the same turn is answered `duplicate`, so a killed client simply asks again. */
export async function enqueuePlanned(kernel: Kernel, project: string, turn: PlannedTurn): Promise<void> {
  const outcome = await kernel.enqueueTurn({
    project_id: project,
    agent_id: turn.agent_id,
    agent_turn_id: turn.agent_turn_id,
    metadata: { steps: turn.steps as unknown as ReadonlyJsonObject[] },
    context_cards: [
      { card_id: `${turn.agent_turn_id}_task`, type: "task.instruction", content: { text: "follow the plan" } },
    ],
  });
  if (outcome.outcome === "rejected") throw new Error(`${turn.agent_turn_id} was not enqueued: ${outcome.code}`);
}
