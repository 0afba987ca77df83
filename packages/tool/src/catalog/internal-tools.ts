// Tessera's own tools for working with other agents (docs/protocol/internal-tools.md#arguments). They are offered, gated and
// called like any tool; what answers them is the PMO, on subjects of its own.
//
//   N1. Their names are reserved, so a definition with one of these names is one of these definitions.
//   N2. Every schema is closed. A field that is not listed is refused at both levels.
//   N3. What a schema cannot say is said by `checkInternalArguments`, before the call is made and again by the PMO.

import {
  BadRequest,
  CALL_DEADLINE_MARGIN_MS,
  CALL_TIMEOUT_MS,
  FAN_OUT_MAX,
  FORK_JOIN_DEADLINE_MS,
  formatSubject,
  isJsonObject,
  type JsonObject,
  SUBJECT_VERSION,
} from "@tessera/protocol";
import type { ToolDefinition, ToolPolicy } from "../definition.ts";

const FORK_JOIN_DEADLINE_SECONDS_MAX = 86_400;
const TEXT: JsonObject = { type: "string", minLength: 1 };
const ID: JsonObject = { type: "string", pattern: "^[A-Za-z0-9_-]{1,64}$" };

const TARGET: JsonObject = {
  target_strategy: {
    type: "string",
    enum: ["new", "reuse", "clone"],
    description: "new: a new agent of the profile; reuse: this agent; clone: a new agent with this agent's profile",
  },
  target_ref: {
    ...TEXT,
    maxLength: 128,
    description: "the profile's name for new, the agent's id for reuse and clone",
  },
  instruction: { ...TEXT, description: "what the other agent is to do; it knows nothing but this and the box" },
  context_box_id: { ...ID, description: "the box of cards to hand over" },
};

function closed(properties: JsonObject, required: readonly string[]): JsonObject {
  return { type: "object", properties, required: [...required], additionalProperties: false }; // N2
}

function define(tool_name: string, description: string, parameters: JsonObject): ToolDefinition {
  return {
    tool_name,
    description,
    parameters,
    target_subject: `cg.${SUBJECT_VERSION}.{project_id}.{channel_id}.cmd.sys.pmo.internal.${tool_name}`,
    after_execution: "suspend",
    // The PMO writes everything under ids made from the call's, so that a second run finds the first one's.
    options: { effect: "idempotent" },
  };
}

export const INTERNAL_TOOL_DEFINITIONS: readonly ToolDefinition[] = [
  define(
    "delegate_async",
    "Hands a task to another agent and returns at once, without its answer. To wait for answers use fork_join.",
    closed(TARGET, ["target_strategy", "target_ref", "instruction"]),
  ),
  define(
    "launch_principal",
    "Starts a new agent of a profile with an instruction and returns at once.",
    closed({ profile_name: { ...TEXT, maxLength: 128 }, instruction: TEXT }, ["profile_name", "instruction"]),
  ),
  define(
    "ask_expert",
    "Puts a question to a new agent of a profile and returns at once. Use fork_join to wait for the answer.",
    closed(
      {
        expert_profile: { ...TEXT, maxLength: 128 },
        question: TEXT,
        include_history: { type: "boolean", default: false, description: "hand over what was said so far" },
      },
      ["expert_profile", "question"],
    ),
  ),
  define(
    "fork_join",
    "Gives tasks to several agents at once and waits for all of them.",
    closed(
      {
        tasks: {
          type: "array",
          minItems: 1,
          maxItems: FAN_OUT_MAX,
          items: closed(TARGET, ["target_strategy", "target_ref", "instruction"]),
        },
        fail_fast: { type: "boolean", default: false, description: "stop the others when one fails" },
        deadline_seconds: {
          type: "number",
          exclusiveMinimum: 0,
          maximum: FORK_JOIN_DEADLINE_SECONDS_MAX,
          default: FORK_JOIN_DEADLINE_MS / 1_000,
        },
      },
      ["tasks"],
    ),
  ),
  define(
    "provision_agent",
    "Creates an agent, makes sure that it exists, or derives it from another.",
    closed(
      {
        action: { type: "string", enum: ["ensure", "create", "derive"] },
        agent_id: ID,
        profile_name: { ...TEXT, maxLength: 128 },
        profile_box_id: ID,
        derived_from: { ...ID, description: "the agent to derive from; needed by derive" },
        display_name: { ...TEXT, maxLength: 128 },
        owner_agent_id: ID,
        worker_target: ID,
        active_channel_id: ID,
        tags: { type: "array", items: { ...TEXT, maxLength: 64 }, maxItems: 64 },
        metadata: { type: "object" },
      },
      ["action", "agent_id"],
    ),
  ),
];

const byName: ReadonlyMap<string, ToolDefinition> = new Map(
  INTERNAL_TOOL_DEFINITIONS.map((definition) => [definition.tool_name, definition]),
);

/** Whether this is one of the definitions above, and not one that only borrows a name (N1). */
export function isInternalTool(definition: ToolDefinition): boolean {
  return byName.get(definition.tool_name) === definition;
}

/** How an internal tool is called; the counterpart of `toolPolicy`. */
export function internalPolicy(definition: ToolDefinition, args: JsonObject): ToolPolicy {
  const isForkJoin = definition.tool_name === "fork_join";
  const deadline = typeof args.deadline_seconds === "number" ? args.deadline_seconds * 1_000 : FORK_JOIN_DEADLINE_MS;
  return {
    resource: "pmo",
    target: "pmo",
    author_id: isForkJoin ? "sys.pmo.batch_manager" : "sys.pmo",
    placement: "service",
    effect: "idempotent",
    attempts_max: 3,
    backoff_ms: 1_000,
    // A batch ends itself at its deadline; the call has to outlive that, or the caller would see a timeout instead.
    timeout_ms: isForkJoin ? Math.ceil(deadline) + CALL_DEADLINE_MARGIN_MS : CALL_TIMEOUT_MS,
    queue_timeout_ms: null,
    can_reconcile: false,
    error_message_limit: 1_000,
  };
}

export function internalSubject(
  toolName: string,
  { project_id, channel_id }: { readonly project_id: string; readonly channel_id: string },
): string {
  const suffix = `internal.${toolName}`;
  return formatSubject({ project_id, channel_id, category: "cmd", component: "sys", target: "pmo", suffix });
}

/** N3: refuses with `bad_request` what fits the schema of `toolName` and still cannot be done. */
export function checkInternalArguments(
  toolName: string,
  args: JsonObject,
  caller: { readonly agent_id: string },
): void {
  if (toolName !== "fork_join" || !Array.isArray(args.tasks)) return;
  const reused = new Set<string>();
  for (const [index, task] of args.tasks.entries()) {
    if (!isJsonObject(task) || task.target_strategy !== "reuse" || typeof task.target_ref !== "string") continue;
    const place = `/tasks/${index}/target_ref`;
    // The caller waits for the batch, so it could never take the task.
    if (task.target_ref === caller.agent_id) throw refusal(`${place} is the calling agent itself`);
    // One agent works on one turn at a time: the second task would wait for the first and count against the deadline.
    if (reused.has(task.target_ref)) throw refusal(`${place} names an agent that another task reuses as well`);
    reused.add(task.target_ref);
  }
}

function refusal(issue: string): BadRequest {
  return new BadRequest(`the arguments of fork_join are not valid: ${issue}`, {
    details: {
      code: "E_TOOL_INVALID_ARGS",
      suggestion: "Give each task another agent; use clone or new for more of the same kind.",
    },
  });
}
