// The mind of a turn that is one tool call: it wants the call that the turn holds, and ends with its result.
//
//   M1. A turn in an agent's name (tool-call-request.ts, Q4) may call the internal tool it asks for and nothing else; any
//       other turn may call the project's tools and no internal one.
//   M2. The deliverable is the result, word for word; the turn's status is the result's.

import type { JsonObject } from "@tessera/kernel";
import { isJsonObject } from "@tessera/protocol";
import type { Mind, Turn } from "../loop/worker-context.ts";
import type { AgentProfile } from "../profile.ts";

export const TOOL_CALLER_TARGET = "tool_caller";

export const ONE_CALL: Mind = {
  profileOf(turn) {
    const { name } = wantedOf(turn);
    return isInAnothersName(turn) ? { ...PROFILE, allowed_tools: [], allowed_internal_tools: [name] } : PROFILE; // M1
  },
  think(turn) {
    const { name, arguments: given } = wantedOf(turn);
    const tool_calls = [{ name, arguments: given }];
    return { text: "", tool_calls, finish_reason: "tool_calls", provider: "none", model: "none" };
  },
  endOf({ results }) {
    const content = results[0]?.content;
    if (content === undefined) return null;
    const { status, result, error } = content;
    return { status, content: { data: { status, result, error } } as unknown as JsonObject, error }; // M2
  },
};

const PROFILE: AgentProfile = {
  schema_version: 1,
  name: TOOL_CALLER_TARGET,
  description: "",
  worker_target: TOOL_CALLER_TARGET,
  tags: [],
  model: { provider: "none", model: "none" },
  system_prompt: "",
  allowed_tools: null,
  allowed_internal_tools: [],
  must_end_with: [],
  required_tools: [],
  delegation_policy: null,
  max_steps: 1,
  extensions: [],
  swarm: null,
};

function wantedOf({ runtime_config }: Turn): { readonly name: string; readonly arguments: unknown } {
  const wanted = isJsonObject(runtime_config) ? runtime_config.tool_call : null;
  if (!isJsonObject(wanted)) return { name: "", arguments: {} };
  return { name: String(wanted.name), arguments: wanted.arguments };
}

function isInAnothersName({ runtime_config }: Turn): boolean {
  return isJsonObject(runtime_config) && typeof runtime_config.in_name_of === "string";
}
