// The context of one run, made from its invocation.
//
//   K1. Exactly the keys of the Tool API: whatever a handler can reach is written down there. `runtime` is a key only where
//       the host provides one.
//   K2. What costs something to make is made when the handler reads it, once: most handlers read their input and nothing
//       else. A host may give `workdir` and `logger` as getters.

import type { AgentToolRuntime, Message, ToolContext, ToolProgress } from "../api.ts";
import type { ToolInvocation } from "../invocation.ts";
import { assistantMessage } from "./assistant-message.ts";
import { safeProgress } from "./progress.ts";

export interface ToolContextParts {
  readonly workdir: string;
  readonly logger: Console;
  readonly signal: AbortSignal;
  readonly progress: (update: ToolProgress) => void;
  readonly runtime?: AgentToolRuntime;
}

export function buildToolContext(invocation: ToolInvocation, parts: ToolContextParts): ToolContext {
  const { project_id, channel_id, agent_id } = invocation;
  let message: Message | undefined;
  return {
    agentName: invocation.agent_name ?? agent_id,
    instanceKey: invocation.instance_key ?? `${project_id}:${channel_id}:${agent_id}`,
    turnId: invocation.agent_turn_id,
    traceId: invocation.trace_id,
    toolCallId: invocation.tool_call_id,
    get message() {
      message ??= assistantMessage(invocation); // K2
      return message;
    },
    get workdir() {
      return parts.workdir;
    },
    get logger() {
      return parts.logger;
    },
    ...(parts.runtime === undefined ? {} : { runtime: parts.runtime }),
    signal: parts.signal,
    idempotencyKey: invocation.idempotency_key,
    attempt: invocation.attempt,
    progress: safeProgress(parts.progress),
  };
}
