// Asking for one tool call: committed as a turn of an agent without a model. A tool caller works on it, in this
// process or in another.
//
//   Q1. The request is a turn like any other: it survives the process that asked. What its arguments should be is for the gate to
//       say, in the turn's result; here only what a store cannot hold is refused.
//   Q2. The same idempotency key is the same turn, whatever else the request says.
//   Q3. An agent that is there and is no tool caller keeps its worker: a call takes over no agent.
//   Q4. A call in an agent's name has a stand-in of its own, so that it does not wait for that agent's turns. The turn holds
//       the agent's profile and id, from where the PMO reads whose policy and whose property count.

import { createHash } from "node:crypto";
import type { EnqueueOutcome, Ids, Kernel } from "@tessera/kernel";
import {
  type AfterExecution,
  type ErrorCode,
  errorOf,
  gateJson,
  type OrderTrace,
  type ReadonlyJsonObject,
  type ToolCallOrder,
} from "@tessera/protocol";
import { INTERNAL_TOOL_DEFINITIONS } from "@tessera/tool/catalog";
import { enqueueRootTurn } from "../deploy/enqueue-root-turn.ts";
import { TOOL_CALLER_TARGET } from "../profile.ts";

export interface InternalCallRequest extends OrderTrace {
  readonly project_id: string;
  readonly channel_id?: string;
  /** The agent in whose name one of the internal tools is called. */
  readonly caller_agent_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly after_execution?: AfterExecution;
}

export interface RequestedCall {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  /** False: the idempotency key was used before, and this is its turn. */
  readonly isNew: boolean;
}

type RequestKernel = Pick<Kernel, "putBox" | "putAgent" | "enqueueTurn" | "reads">;

const AUTHOR = "sys.tool_caller";
const KEY_CHARS_MAX = 256;
const HASH_CHARS = 32;
const OTHER_AGENT = "; was this idempotency key used for another agent?";

/** Commits the request; answers with its turn. */
export async function requestToolCall(kernel: RequestKernel, ids: Ids, request: ToolCallOrder): Promise<RequestedCall> {
  const { project_id, channel_id, idempotency_key, trace_id, span_id, tracestate } = request;
  const tool_call = toolCall(request);
  const hash = idempotency_key === undefined ? null : hashOf(project_id, idempotency_key); // Q2
  const agent_id = request.agent_id ?? (hash === null ? ids.mint("call") : `call_${hash}`);
  const turn = hash === null ? {} : { agent_turn_id: `turn_${hash}` };
  const used = turn.agent_turn_id === undefined ? null : await kernel.reads.turn(project_id, turn.agent_turn_id);
  if (used !== null && used.agent_id !== agent_id) throw refusal("turn", "conflict", OTHER_AGENT); // before an agent is made
  await putCaller(kernel, project_id, agent_id);
  const outcome = await enqueueRootTurn(kernel, {
    project_id,
    agent_id,
    channel_id,
    ...turn,
    trace_id,
    span_id,
    tracestate,
    source_agent_id: AUTHOR,
    runtime_config: { tool_call },
  });
  return requested(outcome, agent_id, hash === null ? "" : OTHER_AGENT);
}

/** Commits a call of an internal tool in an agent's name (Q4). */
export async function requestInternalCall(
  kernel: RequestKernel,
  ids: Ids,
  request: InternalCallRequest,
): Promise<RequestedCall> {
  const { project_id, channel_id, caller_agent_id, tool_name, trace_id, span_id, tracestate } = request;
  const definition = INTERNAL_TOOL_DEFINITIONS.find((each) => each.tool_name === tool_name);
  if (definition === undefined) {
    const names = INTERNAL_TOOL_DEFINITIONS.map((each) => each.tool_name).join(", ");
    throw errorOf("not_found", `there is no internal tool ${JSON.stringify(tool_name)}; there are ${names}`);
  }
  if ((request.after_execution ?? definition.after_execution) !== definition.after_execution) {
    throw errorOf("after_execution_mismatch", `${tool_name} is defined with ${definition.after_execution}`);
  }
  const agent = await kernel.reads.agent(project_id, caller_agent_id);
  if (agent === null) throw errorOf("agent_not_found", `there is no agent ${JSON.stringify(caller_agent_id)}`);
  const tool_call = toolCall(request);
  const agent_id = ids.mint("call");
  await putCaller(kernel, project_id, agent_id);
  const outcome = await enqueueRootTurn(kernel, {
    project_id,
    agent_id,
    channel_id,
    ...(typeof agent.profile_box_id === "string" ? { profile_box_id: agent.profile_box_id } : {}),
    trace_id,
    span_id,
    tracestate,
    source_agent_id: AUTHOR,
    runtime_config: { tool_call, in_name_of: caller_agent_id },
  });
  return requested(outcome, agent_id);
}

/** Q1 */
function toolCall(request: { readonly tool_name: string; readonly arguments: unknown }): ReadonlyJsonObject {
  return {
    name: gateJson(request.tool_name),
    arguments: gateJson(request.arguments ?? {}),
  };
}

async function putCaller(kernel: RequestKernel, project_id: string, agent_id: string): Promise<void> {
  const known = await kernel.reads.agent(project_id, agent_id);
  if (known !== null && known.worker_target !== TOOL_CALLER_TARGET) {
    throw errorOf("conflict", `the agent ${agent_id} is model-driven; use another agent_id`); // Q3
  }
  if (known?.status === "active") return;
  const profile_box_id = profileBoxOf(project_id);
  const box = await kernel.putBox({ project_id, box_id: profile_box_id });
  if (box.outcome === "rejected") throw refusal("profile", box.code);
  const agent = await kernel.putAgent({ project_id, agent_id, worker_target: TOOL_CALLER_TARGET, profile_box_id });
  if (agent.outcome === "rejected") throw refusal("agent", agent.code);
}

function requested(outcome: EnqueueOutcome, agent_id: string, why = ""): RequestedCall {
  if (outcome.outcome === "rejected") {
    const { code, project_status } = outcome;
    const status = project_status === undefined ? why : `: the project is ${project_status}`;
    throw refusal("turn", code, code === "conflict" ? status : "");
  }
  return { agent_turn_id: outcome.agent_turn_id, agent_id, isNew: outcome.outcome === "accepted" };
}

/** Every agent has a profile; these share an empty one. Box ids are unique in the world, so the project is in it. */
function profileBoxOf(projectId: string): string {
  return `box_tool_caller_${sha256(projectId)}`;
}

function hashOf(projectId: string, key: string): string {
  if (key === "" || key.length > KEY_CHARS_MAX) {
    throw errorOf("bad_request", `idempotency_key must be 1 to ${KEY_CHARS_MAX} characters`);
  }
  return sha256(JSON.stringify([TOOL_CALLER_TARGET, projectId, key]));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, HASH_CHARS);
}

function refusal(what: string, code: ErrorCode, why = "") {
  return errorOf(code, `the ${what} of the tool call was refused${why}`);
}
