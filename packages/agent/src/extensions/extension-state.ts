// What extensions keep about an agent instance: one JSON value each, under `extensions` in the metadata of its roster row.
//
//   S1. Read when a stretch of a turn begins; written through by `set`, which resolves when it is durable. An agent has one
//       turn at a time, so one worker writes.
//   S2. Sets of one stretch are written one after another, and those that wait share one write.
//   S3. A worker that lost the turn writes nothing more.
//   S4. A step that is repeated after a crash finds what its first run had set.

import type { AgentRecord, Kernel } from "@tessera/kernel";
import { errorOf, gateJson, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { TurnSession } from "../loop/turn-session.ts";

export interface ExtensionState {
  get(extension: string): JsonValue;
  set(extension: string, value: unknown): Promise<void>;
}

const STATE_KEY = "extensions";
const STATE_BYTES_MAX = 64 * 1024;

export async function openState(
  kernel: Pick<Kernel, "reads" | "putAgent">,
  { turn, signal }: Pick<TurnSession, "turn" | "signal">,
): Promise<ExtensionState> {
  const { project_id, agent_id } = turn;
  const row = await kernel.reads.agent(project_id, agent_id);
  const values = new Map<string, JsonValue>(Object.entries(keptIn(row?.metadata)));
  const dirty = new Set<string>();
  let writing: Promise<void> = Promise.resolve();
  let waiting: Promise<void> | null = null;

  async function write(): Promise<void> {
    waiting = null; // what is set from now on needs another write (S2)
    if (signal.aborted) throw errorOf("canceled", "the turn is no longer here; the state was not kept"); // S3
    const current = await kernel.reads.agent(project_id, agent_id);
    if (current === null) throw errorOf("not_found", `agent ${agent_id} is gone; the state was not kept`);
    const metadata = isJsonObject(current.metadata) ? current.metadata : {};
    const kept: JsonObject = { ...keptIn(metadata) };
    for (const name of dirty) kept[name] = values.get(name) ?? null;
    dirty.clear();
    const outcome = await kernel.putAgent({
      project_id,
      agent_id,
      worker_target: String(current.worker_target),
      status: current.status as NonNullable<AgentRecord["status"]>,
      metadata: { ...metadata, [STATE_KEY]: kept } as NonNullable<AgentRecord["metadata"]>,
    });
    if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the state of an extension was not kept");
  }

  return {
    get: (extension) => structuredClone(values.get(extension) ?? null),
    async set(extension, value) {
      values.set(extension, gateJson(value, { bytesMax: STATE_BYTES_MAX }));
      dirty.add(extension);
      waiting ??= writing = writing.catch(() => undefined).then(write);
      await waiting;
    },
  };
}

function keptIn(metadata: unknown): JsonObject {
  const kept = isJsonObject(metadata) ? metadata[STATE_KEY] : null;
  return isJsonObject(kept) ? kept : {};
}
