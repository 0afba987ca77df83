// The tools of the simulation: every effect, with and without reconcile, in a service and beside the turn.
//
//   T1. A handler waits, has its effect, and waits again: a death or a pause can come before, between and after.
//   T2. A tool that is told to stop may not listen.
//   T3. A tool that may run again can fail after its effect, as when the answer of what it asked is lost. One that says
//       `once` may not: its failure is taken for "it did not happen".
//   T4. A tool that asks others does not wait for them. What it asks is drawn once for a call, so that a run that is repeated
//       asks the same; how many calls may ask is bounded, or the answers' turns would ask for ever.

import type { FaultPlan, SimProcess, SimRandom, SimScheduler } from "@tessera/testkit/sim";
import { type DefinedTool, defineTool, type ToolContext, ToolError } from "@tessera/tool";
import type { AsyncRequests } from "./async-requests.ts";
import type { EffectLedger } from "./effect-ledger.ts";
import type { RequestWatch } from "./request-watch.ts";

export const SERVICE_TARGET = "simtools";
const PLACEMENTS = ["service", "inline"] as const;
const EFFECTS = ["read", "idempotent", "once"] as const;
const TIMEOUT_MS = 4_000;
const WORK_MS_MAX = 400;
const SLOW_MS = [1_000, 30_000] as const;

export interface ToolWorld {
  readonly scheduler: SimScheduler;
  readonly random: SimRandom;
  readonly faults: FaultPlan;
  readonly ledger: EffectLedger;
  /** Ids that a model gave its calls itself. */
  readonly saidIds: Set<string>;
  readonly requests: Pick<RequestWatch, "check">;
  /** What tools ask of other agents without waiting; null: there is no such tool. */
  readonly asking: AsyncRequests | null;
}

/** The tools as `process` runs them. */
export function simTools(world: ToolWorld, process: SimProcess): DefinedTool[] {
  const tools: DefinedTool[] = [];
  for (const placement of PLACEMENTS) {
    for (const effect of EFFECTS) {
      tools.push(simTool(world, process, { placement, effect, canReconcile: false, ends: false }));
    }
    tools.push(simTool(world, process, { placement, effect: "once", canReconcile: true, ends: false }));
    if (world.asking !== null) tools.push(simTool(world, process, { ...ASKING, placement }));
  }
  tools.push(simTool(world, process, { placement: "service", effect: "idempotent", canReconcile: false, ends: true }));
  return tools;
}

interface Kind {
  readonly placement: (typeof PLACEMENTS)[number];
  readonly effect: (typeof EFFECTS)[number];
  readonly canReconcile: boolean;
  /** Its result ends the turn. */
  readonly ends: boolean;
  /** It asks other agents. */
  readonly asks?: boolean;
}

const ASKING = { effect: "idempotent", canReconcile: false, ends: false, asks: true } as const;

function simTool(world: ToolWorld, process: SimProcess, kind: Kind): DefinedTool {
  const { scheduler, random, faults, ledger } = world;
  const { placement, effect, canReconcile, ends, asks = false } = kind;
  const action = `${effect}${canReconcile ? "_reconciled" : ""}${ends ? "_last" : ""}${asks ? "_asks" : ""}`;
  const name = `${placement}__${action}`;
  const work = (ctx: ToolContext) => {
    const ms = faults.hits("tool.slow") ? random.between(...SLOW_MS) : random.int(0, WORK_MS_MAX);
    const listens = random.chance(0.5); // T2
    return new Promise<void>((resolve, reject) => {
      scheduler.schedule(process, ms, `tool ${name}`, resolve);
      if (listens) ctx.signal.addEventListener("abort", () => reject(new ToolError("stopped", { code: "canceled" })));
    });
  };
  const mayFail = () => {
    if (faults.hits("tool.error"))
      throw new ToolError("it did not work", { code: "E_SIM", retryable: random.chance(0.5) });
  };
  return defineTool({
    name,
    effect,
    placement,
    timeoutMs: TIMEOUT_MS,
    parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    ...(placement === "service" ? { target: SERVICE_TARGET } : {}),
    ...(ends ? { afterExecution: "terminate" as const } : {}),
    handler: async (ctx: ToolContext) => {
      await work(ctx); // T1
      mayFail();
      if (asks) await world.asking?.ask(ctx); // T4
      const { toolCallId, idempotencyKey, attempt } = ctx;
      if (!ledger.apply(toolCallId, { toolName: name, idempotencyKey, attempt }))
        throw new ToolError("given up", { code: "E_SIM" });
      await work(ctx);
      if (effect !== "once") mayFail(); // T3
      return { done: true };
    },
    ...(canReconcile
      ? {
          reconcile: async (ctx: ToolContext) => {
            await work(ctx);
            const isDone = ledger.settle(ctx.toolCallId, ctx.attempt);
            return isDone ? { outcome: "done" as const, output: { done: true } } : { outcome: "not_done" as const };
          },
        }
      : {}),
  } as never) as unknown as DefinedTool;
}
