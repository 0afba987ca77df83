// What is asked for from outside of a swarm: a turn of an agent, or one call of a tool.

/** The W3C context of the request that an order came with. */
export interface OrderTrace {
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly tracestate?: string;
}

export interface TurnOrder extends OrderTrace {
  readonly project_id: string;
  /** The agent's name, or … */
  readonly agent?: string;
  /** … an agent of the roster. Exactly one of them. */
  readonly agent_id?: string;
  readonly instance_key?: string;
  readonly channel_id?: string;
  readonly input: string;
  readonly idempotency_key?: string;
  /** Begins the instance's conversation anew. */
  readonly is_fresh?: boolean;
}

export interface ToolCallOrder extends OrderTrace {
  readonly project_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  readonly channel_id?: string;
  /** Whose workspace and name the call has; a new one when absent. */
  readonly agent_id?: string;
  readonly idempotency_key?: string;
}
