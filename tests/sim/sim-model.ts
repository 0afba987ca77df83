// The model of the simulation: calls tools, forks children, answers; and now and then what a model should not say.
//
//   M1. A model that never ends is cut off by its client, as the real one is, unless its turn is stopped before.

import type { ModelAnswer, ModelCall, ModelPort, ModelToolCall } from "@tessera/agent";
import { TesseraError } from "@tessera/protocol";
import type { SimProcess } from "@tessera/testkit/sim";
import { type SentRequest, sentRequest } from "./request-watch.ts";
import type { ToolWorld } from "./sim-tools.ts";

export const BOSS = "boss";
export const HELPER = "helper";
const THINK_MS_MAX = 300;
const PONDER_MS = [1_000, 8_000] as const;
const PONDER_CHANCE = 0.25;
const FORK_CHANCE = 0.35;
const CLIENT_TIMEOUT_MS = 40_000;
const MANY_CALLS = 200;
const TASKS_MAX = 3;
/** What becomes of a run that was cut off has most ways to go wrong where it can be asked. */
const RECONCILED = /_reconciled$/;
const RECONCILED_WEIGHT = 3;
/** Few children fork in turn: enough for depth, too few to go on for ever. */
const BOSS_CHILD_CHANCE = 0.4;

type Say = Pick<ModelAnswer, "text" | "tool_calls">;

export function simModel(world: ToolWorld, process: SimProcess): ModelPort {
  const { scheduler, random, faults } = world;
  return {
    call: (call) =>
      new Promise((resolve, reject) => {
        const request = sentRequest(call);
        const isEndless = faults.hits("model.never_ends");
        const thinkMs = random.chance(PONDER_CHANCE) ? random.between(...PONDER_MS) : random.int(1, THINK_MS_MAX);
        const ms = isEndless ? CLIENT_TIMEOUT_MS : thinkMs;
        scheduler.schedule(process, ms, `model ${call.agentName} ${call.step}`, async () => {
          await world.requests.check(request);
          if (isEndless || faults.hits("model.error")) reject(failed("the provider did not answer"));
          else
            resolve({ ...answerTo(world, call, request), finish_reason: "stop", provider: "scripted", model: "sim" });
        });
        call.signal.addEventListener("abort", () => reject(failed("the turn is over"))); // M1
      }),
  };
}

function failed(message: string): TesseraError {
  return new TesseraError("model_failed", message, { details: { retryable: false } });
}

function answerTo(world: ToolWorld, call: ModelCall, { agent_turn_id }: SentRequest): Say {
  const { random, faults } = world;
  if (faults.hits("model.empty")) return { text: "", tool_calls: [] };
  const isLast = call.tools.length === 0 || random.chance(call.step === 0 ? 0.1 : 0.55);
  if (isLast) return { text: `${agent_turn_id} is done after ${call.step} steps`, tool_calls: [] };
  const many = faults.hits("model.many_calls");
  const count = many ? MANY_CALLS : random.int(1, 4);
  const names = many
    ? call.tools.map(({ name }) => name).filter((name) => name.endsWith("read"))
    : call.tools.flatMap(({ name }) => Array<string>(RECONCILED.test(name) ? RECONCILED_WEIGHT : 1).fill(name));
  if (names.length === 0) return { text: "nothing to call", tool_calls: [] };
  const calls = Array.from({ length: count }, (_, n) => toolCall(world, random.pick(names), n));
  const forks = names.includes("fork_join") && random.chance(FORK_CHANCE) ? [toolCall(world, "fork_join", count)] : [];
  return { text: "calling", tool_calls: [...calls, ...forks] };
}

/** An id that other steps and turns have used, too, or will. */
function repeatedId({ random, faults, saidIds }: ToolWorld): string {
  const id = `call_${random.int(0, 2)}`;
  if (saidIds.has(id)) faults.happened("model.repeated_ids");
  saidIds.add(id);
  return id;
}

function toolCall(world: ToolWorld, name: string, n: number): ModelToolCall {
  const { random, faults } = world;
  const id = faults.draws("model.repeated_ids") ? { id: repeatedId(world) } : {};
  if (faults.hits("model.malformed")) {
    return {
      ...id,
      name,
      arguments: random.pick(["{", "[]", '{"n":"x"}', '{"n":1}{"n":2}', "", null, '{"__proto__":{}}']),
    };
  }
  if (name !== "fork_join") return { ...id, name, arguments: JSON.stringify({ n }) };
  const tasks = Array.from({ length: random.int(1, TASKS_MAX) }, (_, task) => ({
    target_strategy: "new",
    target_ref: random.chance(BOSS_CHILD_CHANCE) ? BOSS : HELPER,
    instruction: `task ${task}`,
  }));
  const fork = { tasks, fail_fast: random.chance(0.3), deadline_seconds: random.int(10, 60) };
  return { ...id, name, arguments: JSON.stringify(fork) };
}
