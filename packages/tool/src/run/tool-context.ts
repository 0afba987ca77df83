// The context of one run, made from its invocation.
//
//   K1. Exactly the keys of the Tool API: whatever a handler can reach is written down there. `runtime` is a key only where
//       the host provides one.
//   K2. What costs something to make is made when the handler reads it, once: most handlers read their input and nothing
//       else. A host may give `workdir` and `logger` as getters.
//   K3. What is read late is a key of the context like any other: a handler may spread it, inherit from it or wrap it.

import type { AgentToolRuntime, Message, ToolContext, ToolProgress } from "../api.ts";
import type { ToolInvocation } from "../invocation.ts";
import { assistantMessage } from "./assistant-message.ts";
import { safeProgress } from "./progress.ts";

export interface ToolContextParts {
  readonly workdir: string;
  readonly logger: Console;
  readonly signal: AbortSignal;
  readonly progress: (update: ToolProgress) => void;
  readonly runtime?: AgentToolRuntime | undefined;
}

type LateKey = "message" | "workdir" | "logger";
type Draft = { -readonly [Key in keyof ToolContext]?: ToolContext[Key] };

export function buildToolContext(invocation: ToolInvocation, parts: ToolContextParts): ToolContext {
  const { project_id, channel_id, agent_id } = invocation;
  const ctx: Draft = {
    agentName: invocation.agent_name ?? agent_id,
    instanceKey: invocation.instance_key ?? `${project_id}:${channel_id}:${agent_id}`,
    turnId: invocation.agent_turn_id,
    traceId: invocation.trace_id,
    toolCallId: invocation.tool_call_id,
  };
  Object.defineProperty(ctx, LATE, { value: new LateParts(invocation, parts) });
  Object.defineProperty(ctx, "message", MESSAGE);
  Object.defineProperty(ctx, "workdir", WORKDIR);
  Object.defineProperty(ctx, "logger", LOGGER);
  if (parts.runtime !== undefined) ctx.runtime = parts.runtime;
  ctx.signal = parts.signal;
  ctx.idempotencyKey = invocation.idempotency_key;
  ctx.attempt = invocation.attempt;
  ctx.progress = safeProgress(parts.progress);
  return ctx as ToolContext;
}

/** What the late keys of one context come from. It gives a handler that finds it what its context gives (K1). */
class LateParts implements Pick<ToolContext, LateKey> {
  readonly #invocation: ToolInvocation;
  readonly #parts: ToolContextParts;
  #message: Message | undefined;

  constructor(invocation: ToolInvocation, parts: ToolContextParts) {
    this.#invocation = invocation;
    this.#parts = parts;
  }

  get message(): Message {
    this.#message ??= assistantMessage(this.#invocation); // K2
    return this.#message;
  }

  get workdir(): string {
    return this.#parts.workdir;
  }

  get logger(): Console {
    return this.#parts.logger;
  }
}

// One getter per key for all contexts: with getters of its own every context is a hidden class of its own to the engine,
// which took 1.2 µs to make and outlived the call.
const LATE: unique symbol = Symbol("late");
const MESSAGE = lateKey("message");
const WORKDIR = lateKey("workdir");
const LOGGER = lateKey("logger");

function lateKey(key: LateKey): PropertyDescriptor {
  return {
    get(this: { readonly [LATE]: LateParts }) {
      return this[LATE][key];
    },
    enumerable: true,
    configurable: true,
  };
}
