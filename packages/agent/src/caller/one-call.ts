// Drives a turn that is one tool call: it makes the call that the turn holds, and ends with its result.
//
//   M1. A turn in an agent's name (tool-call-request.ts, Q4) may call the internal tool it asks for and nothing else; any
//       other turn may call the project's tools and no internal one.
//   M2. The deliverable is the result, word for word; the turn's status is the result's.

import type { JsonObject } from "@tessera/kernel";
import { isJsonObject } from "@tessera/protocol";
import { callOf, drivenProfile, type TurnDriver } from "../loop/turn-driver.ts";
import type { Turn } from "../loop/worker-context.ts";
import { TOOL_CALLER_TARGET } from "../profile.ts";

export const ONE_CALL: TurnDriver = {
  profileOf(turn) {
    const { name } = wantedOf(turn);
    return isInAnothersName(turn) ? { ...PROFILE, allowed_tools: [], allowed_internal_tools: [name] } : PROFILE; // M1
  },
  decide(turn) {
    const { name, arguments: given } = wantedOf(turn);
    return callOf({ name, arguments: given });
  },
  endOf({ results }) {
    const content = results[0]?.content;
    if (content === undefined) return null;
    const { status, result, error } = content;
    return { status, content: { data: { status, result, error } } as unknown as JsonObject, error }; // M2
  },
};

const PROFILE = drivenProfile(TOOL_CALLER_TARGET);

function wantedOf({ runtime_config }: Turn): { readonly name: string; readonly arguments: unknown } {
  const wanted = isJsonObject(runtime_config) ? runtime_config.tool_call : null;
  if (!isJsonObject(wanted)) return { name: "", arguments: {} };
  return { name: String(wanted.name), arguments: wanted.arguments };
}

function isInAnothersName({ runtime_config }: Turn): boolean {
  return isJsonObject(runtime_config) && typeof runtime_config.in_name_of === "string";
}
