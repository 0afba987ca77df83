// What the API asks of the part that knows agents; runtime wires it. Without it the routes that need it answer 501.

import type { ToolDelegationPolicy } from "@tessera/protocol";
import type { InboundTrace } from "./http/inbound-trace.ts";

/** A turn that somebody asks for by the name of an agent. */
export interface TurnOrder extends InboundTrace {
  readonly project_id: string;
  readonly agent?: string;
  readonly agent_id?: string;
  readonly instance_key?: string;
  readonly channel_id?: string;
  readonly input: string;
  readonly idempotency_key?: string;
  /** Begins the instance's conversation anew. */
  readonly is_fresh?: boolean;
}

/** The call on whose behalf another agent is asked for something. */
export interface RuntimeCallerOrder {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly tool_call_id: string;
  readonly trace_id: string;
  /** The code that asks is not the bundle's: it comes with an executor key. */
  readonly is_foreign: boolean;
  /** Of the key that asks; null: none. */
  readonly key_policy: ToolDelegationPolicy | null;
}

export interface AgentPorts {
  /** Throws a TesseraError: agent_not_found, backlog_full, conflict. */
  enqueue(
    order: TurnOrder,
  ): Promise<{ readonly agent_turn_id: string; readonly agent_id: string; readonly isNew: boolean }>;
  /** ctx.runtime of a call, for an executor that cannot have it as an object. `ordinal` names the operation. */
  runtime(
    caller: RuntimeCallerOrder,
    operation: RuntimeOperation,
    request: RuntimeRequest,
    signal: AbortSignal,
  ): Promise<unknown>;
}

export const RUNTIME_OPERATIONS = ["request", "send", "spawn", "list", "catalog"] as const;
export type RuntimeOperation = (typeof RUNTIME_OPERATIONS)[number];

export interface RuntimeRequest {
  readonly ordinal: number;
  readonly target?: string;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly options?: Readonly<Record<string, unknown>>;
}
