// A claimed call as an executor over HTTP gets it. `headers` are what the command message would have carried, without
// anything that proves authority: the capability has its own field, and the ticket is used up.

import { commandMessage, type OpenedCall } from "@tessera/kernel";
import {
  isJsonObject,
  readCallerFacts,
  SESSION_ALIAS_CHARS_MAX,
  sessionKey,
  withoutSecretHeaders,
} from "@tessera/protocol";

export function callDocument(call: OpenedCall): Readonly<Record<string, unknown>> {
  const command = commandMessage({ ...call, parent_agent_id: null, parent_agent_turn_id: null, ticket: "" });
  return {
    tool_call_id: call.tool_call_id,
    tool_call_card_id: call.tool_call_card_id,
    tool_name: call.tool_name,
    arguments: call.arguments,
    ...sessionOf(call),
    attempt: call.attempt,
    // `reconcile`: an earlier attempt may have acted; find out what became of it before anything else.
    mode: call.mode,
    idempotency_key: call.idempotency_key,
    after_execution: call.after_execution,
    lease_expires_at: call.lease_expires_at,
    deadline_at: call.deadline_at,
    capability: call.capability,
    headers: withoutSecretHeaders(command.headers),
    // For hosts that run handlers of the Tool API: what a crash means, the message that holds the call, the pinned definition.
    effect: call.effect,
    message: call.message,
    definition: call.definition,
    caller: { ...readCallerFacts(call.call_metadata) },
  };
}

/** `session_id` is what the caller calls a session; whose session it is stands in the key, so that two agents with the same
 *  word have two sessions. */
function sessionOf(call: OpenedCall): { readonly session_key?: string } {
  const alias = isJsonObject(call.arguments) ? call.arguments.session_id : undefined;
  const isAlias = typeof alias === "string" && alias !== "" && alias.length <= SESSION_ALIAS_CHARS_MAX;
  return isAlias ? { session_key: sessionKey(call, alias) } : {};
}
