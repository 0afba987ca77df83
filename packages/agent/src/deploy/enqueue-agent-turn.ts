// A turn asked for from outside: by an agent's name and instance key, or by the id of an agent in the roster.
//
//   E1. An agent that is defined and has no instance yet gets one; a name that is not defined is `agent_not_found`.
//   E2. The same idempotency key is the same turn, whatever else the request says; the same key for another agent is a
//       conflict.

import { createHash } from "node:crypto";
import type { CardDraft, EnqueueOutcome, Ids, Kernel } from "@tessera/kernel";
import {
  errorOf,
  type FieldSchema,
  isErrorCode,
  isInstanceKey,
  isJsonObject,
  type JsonObject,
  type TurnOrder,
} from "@tessera/protocol";
import { INSTANCE_KEY_DEFAULT } from "../instance.ts";
import { ensureInstance, instanceOf } from "../runtime/instances.ts";
import { enqueueRootTurn } from "./enqueue-root-turn.ts";

export interface AgentTurnRequest extends TurnOrder {
  /** What the deliverable must have. */
  readonly result_fields?: readonly FieldSchema[];
  /** JSON Schema of the deliverable, an object; instead of `result_fields`. */
  readonly deliverable_schema?: JsonObject;
}

export type AgentTurn = Exclude<EnqueueOutcome, { outcome: "rejected" }> & { readonly agent_id: string };

/** The source of requests from outside of the swarm. */
export const ENTRY_AUTHOR = "sys.entry";
const KEY_CHARS_MAX = 256;
const NAMES_SHOWN_MAX = 10;

export async function enqueueAgentTurn(kernel: Kernel, ids: Ids, request: AgentTurnRequest): Promise<AgentTurn> {
  const { project_id, channel_id, idempotency_key, trace_id, span_id, tracestate } = request;
  const target = await targetOf(kernel, request);
  const outcome = await enqueueRootTurn(kernel, {
    project_id,
    agent_id: target.agent_id,
    depth_policy: "root",
    display_name: target.display_name,
    context_cards: cardsOf(ids, request),
    channel_id,
    ...(idempotency_key === undefined ? {} : { agent_turn_id: turnIdOf(project_id, idempotency_key) }),
    trace_id,
    span_id,
    tracestate,
    ...(request.is_fresh === true ? { is_fresh: true } : {}),
  });
  if (outcome.outcome !== "rejected") return { ...outcome, agent_id: target.agent_id };
  if (outcome.code === "not_found") throw errorOf("agent_not_found", `the agent ${target.agent_id} is not active`);
  const code = isErrorCode(outcome.code) ? outcome.code : "internal_error";
  const other = code === "conflict" ? "this idempotency key was used for another agent" : outcome.code; // E2
  const why = outcome.project_status === undefined ? other : `the project is ${outcome.project_status}`;
  throw errorOf(code, `no turn was enqueued for ${target.display_name}: ${why}`);
}

interface Target {
  readonly agent_id: string;
  readonly display_name: string;
}

async function targetOf(kernel: Kernel, request: AgentTurnRequest): Promise<Target> {
  const { project_id, agent, agent_id, instance_key = INSTANCE_KEY_DEFAULT } = request;
  if ((agent === undefined) === (agent_id === undefined)) {
    throw errorOf("bad_request", "a turn needs either agent (a name) or agent_id");
  }
  if (agent_id !== undefined) {
    if (request.instance_key !== undefined) throw errorOf("bad_request", "instance_key goes with agent, not agent_id");
    const row = await kernel.reads.agent(project_id, agent_id);
    if (row === null) throw errorOf("agent_not_found", `there is no agent ${JSON.stringify(agent_id)} in the roster`);
    return { agent_id, display_name: instanceOf(row)?.agent_name ?? agent_id };
  }
  if (!isInstanceKey(instance_key)) throw badInstanceKey();
  const agent_name = String(agent);
  const instance = await ensureInstance(kernel, { project_id, agent_name, instance_key });
  if (instance === null) throw await unknownAgent(kernel, project_id, agent_name); // E1
  return { agent_id: instance.agent_id, display_name: agent_name };
}

export function badInstanceKey() {
  return errorOf("bad_request", "instance_key must be 1 to 128 letters, digits and _ : . @ -");
}

export async function unknownAgent(
  kernel: { readonly reads: Pick<Kernel["reads"], "profiles"> },
  projectId: string,
  name: string,
) {
  const names = (await kernel.reads.profiles(projectId)).map((profile) => profile.name);
  const some = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  const there =
    names.length === 0 ? "none is defined" : `defined are ${some}${names.length > NAMES_SHOWN_MAX ? ", …" : ""}`;
  return errorOf("agent_not_found", `there is no agent ${JSON.stringify(name)} in this project; ${there}`);
}

function cardsOf(ids: Ids, { input, result_fields, deliverable_schema }: AgentTurnRequest): CardDraft[] {
  const card = (type: string, content: CardDraft["content"]): CardDraft => ({
    card_id: ids.mint("card"),
    type,
    content,
    author_id: ENTRY_AUTHOR,
  });
  const instruction = card("task.instruction", { text: input });
  if (deliverable_schema !== undefined) {
    if (result_fields !== undefined) throw errorOf("bad_request", "give either a deliverable's fields or its schema");
    const fields = requiredOf(deliverable_schema).map((field) => ({ ...field }));
    return [instruction, card("task.result_fields", { fields, schema: deliverable_schema })];
  }
  if (result_fields === undefined || result_fields.length === 0) return [instruction];
  return [instruction, card("task.result_fields", { fields: result_fields.map((field) => ({ ...field })) })];
}

/** The fields that a schema demands, with what it says about them. */
function requiredOf({ required, properties }: JsonObject): FieldSchema[] {
  const names = Array.isArray(required) ? required.filter((name) => typeof name === "string" && name !== "") : [];
  return [...new Set(names as string[])].map((name) => {
    const property = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const description = isJsonObject(property) ? property.description : undefined;
    return { name, description: typeof description === "string" ? description : "" };
  });
}

/** E2. The key alone names the turn, so that its use for another agent is found. */
function turnIdOf(projectId: string, key: string): string {
  if (key === "" || key.length > KEY_CHARS_MAX) {
    throw errorOf("bad_request", `idempotency_key must be 1 to ${KEY_CHARS_MAX} characters`);
  }
  const hash = createHash("sha256")
    .update(JSON.stringify([projectId, key]))
    .digest("hex");
  return `turn_${hash.slice(0, 32)}`;
}
