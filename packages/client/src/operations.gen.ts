// Generated from docs/reference/openapi.json by scripts/generate.ts. Do not edit.

import type { OperationSpec } from "./operation-spec.ts";

export type Agent = {
  readonly project_id: string;
  readonly agent_id: string;
  readonly profile_box_id: string | null;
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly display_name: string | null;
  readonly owner_agent_id: string | null;
  readonly status: "active" | "inactive";
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly last_seen_at: string | null;
};

export type ApiKey = {
  readonly key_id: string;
  readonly project_id: string | null;
  readonly role: "viewer" | "operator" | "executor" | "admin";
  readonly targets: readonly string[];
  readonly delegation_policy: {
    readonly operations?: readonly ("request" | "send" | "spawn")[];
    readonly target_tags?: readonly string[];
    readonly target_profiles?: readonly string[];
  } | null;
  readonly label: string;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
};

export type AuditEntry = {
  readonly audit_id: number;
  readonly project_id: string | null;
  readonly kind: string;
  readonly code: string;
  readonly tool_call_id: string | null;
  readonly agent_turn_id: string | null;
  readonly principal: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type Box = {
  readonly box_id: string;
  readonly card_ids: readonly string[];
  readonly cards?: readonly Card[];
};

export type Call = {
  readonly tool_call_id: string;
  readonly step_id: string;
  readonly tool_name: string;
  readonly target_subject: string;
  readonly effect: "read" | "idempotent" | "once";
  readonly wait_status: "waiting" | "received" | "applied" | "dropped";
  readonly attempt: number;
  readonly claimed_by: string | null;
  readonly lease_until: string | null;
  readonly deadline_at: string;
  readonly settled_by: string | null;
  readonly result_card_id: string | null;
  readonly result_status: "success" | "failed" | "canceled" | "timeout" | "partial" | null;
  readonly created_at: string;
  readonly received_at: string | null;
  readonly applied_at: string | null;
  /** Of a call that waits: for what. */
  readonly why?: string;
};

export type Card = {
  readonly card_id: string;
  readonly project_id: string;
  readonly type: string;
  readonly author_id: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tool_calls: unknown;
  readonly tool_call_id: string | null;
  readonly ttl_seconds: number | null;
  readonly expires_at: string | null;
  readonly created_at: string;
};

export type CardInBox = {
  readonly card_id: string;
  readonly project_id: string;
  readonly type: string;
  readonly author_id: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tool_calls: unknown;
  readonly tool_call_id: string | null;
  readonly ttl_seconds: number | null;
  readonly expires_at: string | null;
  readonly created_at: string;
  readonly pos: number;
};

export type ClaimedCall = {
  readonly tool_call_id: string;
  readonly tool_call_card_id: string;
  readonly tool_name: string;
  readonly arguments: unknown;
  /** Of a call with the argument `session_id`: the session of its project and agent under that name. */
  readonly session_key?: string;
  readonly attempt: number;
  /** `reconcile`: an earlier attempt may have acted; find out what became of it first. */
  readonly mode: string;
  readonly idempotency_key: string;
  readonly after_execution: "suspend" | "terminate";
  readonly lease_expires_at: string;
  readonly deadline_at: string;
  /** Goes back as CG-Report-Capability with everything about this call. */
  readonly capability: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly effect: "read" | "idempotent" | "once";
  readonly message: unknown;
  readonly definition: unknown;
  /** The instance that calls. `workdir`: its tools work in this directory of that agent's workspace, and not in one of its own. */
  readonly caller: {
    readonly agent_name?: string;
    readonly instance_key?: string;
    readonly workdir?: {
      readonly agent_id: string;
      readonly path: string;
    };
  };
};

export type ConversationReset = {
  readonly agent_id: string;
  readonly card_id: string;
  /** The number of the first turn that belongs to the conversation from now on. */
  readonly conversation_from: number;
};

export type DeadLetter = {
  readonly dead_letter_id: number;
  readonly project_id: string;
  readonly correlation_id: string | null;
  readonly reason: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

/** The content of the turn's deliverable card: text or data. */
export type Deliverable = {
  readonly card_id: string;
  /** What was said, of an agent that answers in words. */
  readonly text?: string;
  /** What was answered as JSON; of a call by hand, its whole result. */
  readonly data?: Readonly<Record<string, unknown>> | readonly unknown[];
};

export type EnqueuedTurn = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
};

export type Event = {
  readonly seq: number;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly kind: "state" | "task";
  readonly status: string;
  readonly turn_epoch: number;
  readonly step_id: string | null;
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly created_at: string;
};

export type ExecutionEdge = {
  readonly edge_id: string;
  readonly channel_id: string;
  readonly primitive: "enqueue" | "join" | "tool_call" | "report";
  readonly edge_phase: "request" | "response";
  readonly source_agent_id: string | null;
  readonly source_agent_turn_id: string | null;
  readonly source_step_id: string | null;
  readonly target_agent_id: string | null;
  readonly target_agent_turn_id: string | null;
  readonly correlation_id: string;
  readonly enqueue_mode: string | null;
  readonly recursion_depth: number;
  readonly trace_id: string | null;
  readonly parent_step_id: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type Head = {
  readonly project_id: string;
  readonly agent_id: string;
  readonly status: "idle" | "dispatched" | "running" | "suspended";
  readonly active_agent_turn_id: string | null;
  readonly active_channel_id: string | null;
  readonly turn_epoch: number;
  readonly holder: string | null;
  readonly step_id: string | null;
  readonly waiting_tool_count: number;
  readonly resume_deadline: string | null;
  readonly updated_at: string;
};

export type Health = {
  readonly status: "ok" | "degraded" | "unready";
  readonly checks: readonly HealthCheck[];
  readonly version?: string;
};

export type HealthCheck = {
  readonly name: string;
  readonly status: "ok" | "degraded" | "unready";
  readonly says: string;
};

export type IdentityEdge = {
  readonly edge_id: string;
  readonly channel_id: string;
  readonly action: string;
  readonly source_agent_id: string | null;
  readonly target_agent_id: string;
  readonly owner_agent_id: string | null;
  readonly worker_target: string | null;
  readonly tags: readonly string[];
  readonly trace_id: string | null;
  readonly parent_step_id: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type Live = {
  readonly status: "ok";
};

export type NewApiKey = {
  readonly key_id: string;
  /** The key itself. It is shown this once and kept nowhere. */
  readonly key: string;
  readonly role: "viewer" | "operator" | "executor" | "admin";
  readonly project_id: string | null;
  readonly targets: readonly string[];
};

export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** One of the error codes, e.g. bad_request; the list is open. */
  readonly error_code: string;
  readonly error_message: string;
  readonly error_detail?: unknown;
  readonly request_id: string;
};

export type Profile = {
  readonly project_id: string;
  readonly profile_box_id: string;
  readonly name: string;
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly updated_at: string;
  readonly system_prompt_compiled: string;
  readonly profile: Readonly<Record<string, unknown>> | null;
};

export type ProfileSummary = {
  readonly project_id: string;
  readonly profile_box_id: string;
  readonly name: string;
  readonly worker_target: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly updated_at: string;
};

export type Project = {
  readonly project_id: string;
  readonly title: string;
  readonly owner_id: string | null;
  readonly status: "active" | "inactive" | "archived" | "deleting";
  readonly revision: number;
  readonly created_at: string;
  readonly updated_at: string;
};

export type Report = {
  readonly since: string;
  readonly until: string | null;
  readonly turns: readonly ({
    readonly status: string;
    readonly count: number;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
  })[];
  readonly calls: readonly ({
    readonly tool_name: string;
    readonly count: number;
    readonly open: number;
    readonly success: number;
    readonly failed: number;
    readonly timeout: number;
    readonly canceled: number;
    readonly unknown: number;
    readonly attempts: number;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
  })[];
  readonly refusals: readonly {
    readonly kind: string;
    readonly code: string;
    readonly count: number;
  }[];
  readonly dead_letters: number;
  readonly unserved: readonly {
    readonly target: string;
    readonly open: number;
    readonly oldest_at: string;
  }[];
  readonly backlog: {
    readonly queued: number;
    readonly active: number;
  };
};

export type Step = {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly step_id: string;
  readonly parent_step_id: string | null;
  readonly trace_id: string;
  readonly status: "waiting" | "done" | "ended";
  readonly thought_card_id: string;
  readonly output_box_id: string;
  readonly tool_call_ids: readonly string[];
  readonly started_at: string;
};

export type StoppedTurn = {
  readonly agent_turn_id: string;
  readonly status: "canceled";
  readonly was: string;
};

export type TimelineEntry = {
  readonly at: string;
  readonly kind: string;
  readonly status: string | null;
  readonly step_id: string | null;
  readonly tool_call_id: string | null;
  readonly name: string | null;
  readonly agent_turn_id: string | null;
  readonly detail: unknown;
};

export type Tool = {
  readonly project_id: string;
  readonly tool_name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly target_subject: string;
  readonly after_execution: "suspend" | "terminate";
  readonly options: Readonly<Record<string, unknown>>;
  /** Names the definition by what it says; it is the ETag. */
  readonly digest: string;
  readonly version: number;
  readonly created_at?: string;
  readonly removed?: boolean;
  /** Keys of the document that mean nothing here. */
  readonly ignored?: readonly unknown[];
};

export type ToolCallEnded = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly status: string;
  readonly result: unknown;
  readonly error: Readonly<Record<string, unknown>> | null;
};

export type ToolCallWaiting = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly status: string;
  readonly why: string;
};

export type Turn = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly channel_id: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  readonly trace_id: string;
  readonly recursion_depth: number;
  readonly parent_agent_turn_id: string | null;
  readonly deliverable_card_id: string | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly input: string | null;
  readonly turn_number: number | null;
  readonly conversation_from: number | null;
  readonly created_at: string;
  readonly ended_at: string | null;
  readonly agent_name: string | null;
  readonly instance_key: string | null;
  /** Of a turn that has not ended: what it waits for, in one sentence. */
  readonly why?: string;
  readonly waiting_for: readonly Wait[];
  readonly deliverable: Deliverable | null;
  /** The newest ones, oldest first. */
  readonly steps: readonly TurnStep[];
  /** true: there are older ones; listSteps has them all. */
  readonly steps_cut: boolean;
  readonly calls: readonly Call[];
  readonly children: readonly TurnChild[];
  /** The newest entries, oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** true: older entries are left out. */
  readonly timeline_cut: boolean;
};

export type TurnChild = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly agent_name: string | null;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  /** The call that asked for it, where that is known. */
  readonly tool_call_id?: string;
};

export type TurnStep = {
  readonly step_id: string;
  readonly started_at: string;
  readonly status: "waiting" | "done" | "ended";
};

export type TurnSummary = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly channel_id: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  readonly trace_id: string;
  readonly recursion_depth: number;
  readonly parent_agent_turn_id: string | null;
  readonly deliverable_card_id: string | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly input: string | null;
  readonly turn_number: number | null;
  readonly conversation_from: number | null;
  readonly created_at: string;
  readonly ended_at: string | null;
};

export type UiActionAccepted = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly action_id: string;
  readonly message_id?: string;
  readonly status: "accepted";
};

export type UiActionAck = {
  readonly agent_turn_id: string;
  readonly agent_id: string;
  readonly action_id: string;
  readonly message_id?: string;
  readonly status: "done" | "rejected";
  readonly result_status?: string;
  readonly tool_result_card_id?: string;
  readonly error_code?: string;
  readonly error?: string;
};

export type VerifyReport = {
  readonly checked: number;
  readonly violations: readonly ({
    readonly invariant: string;
    readonly kind: "safety" | "liveness" | "overdue";
    readonly says: string;
    readonly found: number;
    readonly rows: readonly Readonly<Record<string, unknown>>[];
  })[];
};

export type Wait = {
  readonly code: "queued_behind" | "no_worker" | "working" | "no_executor" | "executor" | "local_tool" | "children" | "retry" | "result_ready";
  readonly says: string;
  readonly tool_call_id?: string;
  readonly tool_name?: string;
  readonly target?: string;
  readonly executor?: string;
  readonly agent_turn_ids?: readonly string[];
  readonly deadline_at?: string;
  /** Of a call that waits for an executor: what its deadline follows from. */
  readonly bounded_by?: string;
  readonly since?: string;
};

/** By operation: what its method takes and what it resolves to. */
export interface Operations {
  /** Say how this process is, check by check. */
  readonly getHealth: {
    readonly arguments: Record<never, never>;
    readonly answer: Health;
  };
  /** Say that this process answers. */
  readonly getLive: {
    readonly arguments: Record<never, never>;
    readonly answer: Live;
  };
  /** Say whether requests may be sent here. */
  readonly getReady: {
    readonly arguments: Record<never, never>;
    readonly answer: Health;
  };
  /** List API keys by id, without their secrets. */
  readonly listKeys: {
    readonly arguments: {
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly keys: readonly ApiKey[];
      readonly next_cursor: string | null;
    };
  };
  /** Make an API key; its text is in this answer and nowhere else. */
  readonly createKey: {
    readonly arguments: {
      readonly body: {
        readonly role: "viewer" | "operator" | "executor" | "admin";
        /** Absent or null: every project; for a key of one project, that one. */
        readonly project_id?: string | null;
        /** Of an executor: whose calls it may take. */
        readonly targets?: readonly string[];
        /** Of an executor: which agents its code may reach through `runtime`. Absent fields do not limit. */
        readonly delegation_policy?: {
          readonly operations?: readonly ("request" | "send" | "spawn")[];
          readonly target_tags?: readonly string[];
          readonly target_profiles?: readonly string[];
        };
        readonly label?: string;
        readonly expires_in_seconds?: number;
      };
    };
    readonly answer: NewApiKey;
  };
  /** Revoke an API key; it stops counting everywhere within seconds. */
  readonly revokeKey: {
    readonly arguments: {
      readonly key: string;
    };
    readonly answer: undefined;
  };
  /** Read this API on one page, for a language model. */
  readonly getLlmsText: {
    readonly arguments: Record<never, never>;
    readonly answer: string;
  };
  /** Read this API as an OpenAPI 3.1 document. */
  readonly getOpenApi: {
    readonly arguments: Record<never, never>;
    readonly answer: Readonly<Record<string, unknown>>;
  };
  /** List the projects that the key reaches, by id. */
  readonly listProjects: {
    readonly arguments: {
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly projects: readonly Project[];
      readonly next_cursor: string | null;
    };
  };
  /** Make a project; only for an administrator of all projects. */
  readonly createProject: {
    readonly arguments: {
      readonly body: {
        readonly project_id?: string;
        readonly title: string;
        readonly owner_id: string;
        /** What a project starts with is built in: both values do the same. */
        readonly bootstrap?: boolean;
      };
    };
    readonly answer: Project;
  };
  /** Read a project; its ETag is its revision. */
  readonly getProject: {
    readonly arguments: {
      readonly project: string;
    };
    readonly answer: Project;
  };
  /** Change the title or the status of a project. */
  readonly updateProject: {
    readonly arguments: {
      readonly project: string;
      /** The ETag of the version that was read; 412 when there is another by now. */
      readonly ifMatch?: string;
      readonly body?: {
        readonly title?: string;
        readonly status?: "active" | "inactive" | "archived";
      };
    };
    readonly answer: Project;
  };
  /** Remove a project that has no turn under way, with everything in it. */
  readonly deleteProject: {
    readonly arguments: {
      readonly project: string;
    };
    readonly answer: undefined;
  };
  /** List the agents of a project, by id. */
  readonly listAgents: {
    readonly arguments: {
      readonly project: string;
      /** Only agents that this kind of worker runs. */
      readonly worker_target?: string;
      /** Only agents with this tag. */
      readonly tag?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly agents: readonly Agent[];
      readonly next_cursor: string | null;
    };
  };
  /** Add an agent to the roster, from a profile or with a worker target of its own. */
  readonly createAgent: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly agent_id: string;
        readonly profile_box_id?: string;
        readonly profile_name?: string;
        readonly worker_target?: string;
        readonly tags?: readonly string[];
        readonly display_name?: string;
        readonly owner_agent_id?: string;
        readonly metadata?: Readonly<Record<string, unknown>>;
        /** Only true: an agent always has its state. */
        readonly init_state?: boolean;
        readonly channel_id?: string;
      };
    };
    readonly answer: Agent;
  };
  /** Read an agent of the roster. */
  readonly getAgent: {
    readonly arguments: {
      readonly project: string;
      readonly agent: string;
    };
    readonly answer: Agent;
  };
  /** Begin an agent's conversation anew: later turns remember nothing from before now. Nothing is deleted. */
  readonly resetAgent: {
    readonly arguments: {
      readonly project: string;
      readonly agent: string;
      /** The same key with the same request is the same reset. */
      readonly idempotencyKey?: string;
      readonly body?: {
        readonly reason?: string;
      };
    };
    readonly answer: ConversationReset;
  };
  /** Make sure that a project has its defaults; internal tools are built in, so nothing is written. */
  readonly bootstrapProject: {
    readonly arguments: {
      readonly project: string;
    };
    readonly answer: {
      readonly status: string;
    };
  };
  /** Read the last card ids of up to 100 boxes, and with hydrate the cards. */
  readonly readBoxes: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly box_ids: readonly string[];
        /** Answer the cards themselves, too. */
        readonly hydrate?: boolean;
        readonly limit?: number;
      };
    };
    readonly answer: {
      readonly boxes: readonly Box[];
      readonly missing_box_ids: readonly string[];
      readonly missing_card_ids: readonly string[];
    };
  };
  /** Read the ids of the last cards of a box, in their order. */
  readonly getBox: {
    readonly arguments: {
      readonly project: string;
      readonly box: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
    };
    readonly answer: Box;
  };
  /** Read the last cards of a box, in their order; the cursor leads to earlier ones. */
  readonly listBoxCards: {
    readonly arguments: {
      readonly project: string;
      readonly box: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly cards: readonly CardInBox[];
      readonly next_cursor: string | null;
    };
  };
  /** Keep a call for another lease, and hear whether it is still wanted. */
  readonly heartbeatCall: {
    readonly arguments: {
      readonly project: string;
      readonly call: string;
      /** The capability that came with the call. */
      readonly cgReportCapability?: string;
      readonly body?: Readonly<Record<string, never>>;
    };
    readonly answer: {
      readonly lease_expires_at: string;
      /** True: nobody wants the result any more. */
      readonly cancel: boolean;
    };
  };
  /** Take one call, by its ticket or by a target of the key. */
  readonly openCall: {
    readonly arguments: {
      readonly project: string;
      readonly call: string;
      /** The ticket of the command message; without it the key's targets count. */
      readonly cgCallTicket?: string;
      readonly body?: {
        readonly tool_call_card_id?: string;
        /** A name for whoever reads the logs. */
        readonly executor?: string;
        /** Makes the claim repeatable: the same id is answered the same calls. */
        readonly claim_id?: string;
      };
    };
    readonly answer: ClaimedCall;
  };
  /** Report what became of a call. */
  readonly reportCall: {
    readonly arguments: {
      readonly project: string;
      readonly call: string;
      /** The capability that came with the call. */
      readonly cgReportCapability?: string;
      readonly body?: {
        /** One of success, failed, canceled, timeout, partial. */
        readonly status?: unknown;
        /** The result itself, where no card was saved before. */
        readonly result?: unknown;
        /** {code, message, retryable?, detail?} unless it is a success. */
        readonly error?: unknown;
        /** suspend or terminate. Default: the definition's. */
        readonly after_execution?: unknown;
        /** The card that result-card answered. */
        readonly tool_result_card_id?: string;
        readonly message_type?: string;
        readonly author_id?: string;
        readonly function_name?: string;
        readonly project_id?: unknown;
        readonly channel_id?: unknown;
        readonly channel?: unknown;
        readonly agent_id?: unknown;
        readonly agent_turn_id?: unknown;
        readonly turn_epoch?: unknown;
        readonly step_id?: unknown;
        readonly tool_call_id?: unknown;
        readonly trace_id?: unknown;
        readonly traceparent?: unknown;
        readonly tracestate?: unknown;
        readonly parent_agent_id?: unknown;
        readonly parent_agent_turn_id?: unknown;
        readonly parent_step_id?: unknown;
        readonly parent_traceparent?: unknown;
        readonly recursion_depth?: unknown;
      } & Readonly<Record<string, unknown>>;
    };
    readonly answer: {
      readonly outcome: "accepted" | "duplicate";
      readonly tool_result_card_id?: string;
      readonly retry_at?: string;
      /** What was sent contradicts itself, and counts as a failed result: why. */
      readonly warning?: {
        readonly code: string;
        readonly message: string;
      };
    };
  };
  /** Save the result of a call as a card before it is reported. */
  readonly putResultCard: {
    readonly arguments: {
      readonly project: string;
      readonly call: string;
      /** The capability that came with the call. */
      readonly cgReportCapability?: string;
      readonly body: {
        /** {status, after_execution?, result?, error?} */
        readonly content: unknown;
        readonly card_id?: string;
        readonly author_id?: string;
        readonly function_name?: string;
      };
    };
    readonly answer: {
      readonly tool_result_card_id: string;
      /** What was sent contradicts itself, and counts as a failed result: why. */
      readonly warning?: {
        readonly code: string;
        readonly message: string;
      };
    };
  };
  /** Ask other agents for something in the name of a call that is held. */
  readonly callRuntime: {
    readonly arguments: {
      readonly project: string;
      readonly call: string;
      readonly operation: string;
      /** The capability that came with the call. */
      readonly cgReportCapability?: string;
      readonly body: {
        /** Names the operation within its call: the same number is the same operation, done once. */
        readonly ordinal: number;
        readonly target?: string;
        readonly event?: {
          readonly id?: string;
          readonly type?: string;
          readonly createdAt?: string;
          readonly traceId?: string;
          readonly instanceKey?: string;
          readonly input?: string;
          readonly source?: Readonly<Record<string, unknown>>;
          readonly metadata?: Readonly<Record<string, unknown>>;
          readonly auth?: Readonly<Record<string, unknown>>;
          readonly replyTo?: Readonly<Record<string, unknown>>;
        };
        readonly options?: {
          readonly timeoutMs?: number;
          readonly async?: boolean;
          readonly includeAll?: boolean;
          readonly instanceKey?: string;
          readonly cwd?: string;
        };
      };
    };
    readonly answer: {
      readonly answer: unknown;
    };
  };
  /** Read up to 100 cards, in the order they were asked for. */
  readonly readCards: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly card_ids: readonly string[];
      };
    };
    readonly answer: {
      readonly cards: readonly Card[];
      readonly missing_ids: readonly string[];
    };
  };
  /** Read a card. */
  readonly getCard: {
    readonly arguments: {
      readonly project: string;
      readonly card: string;
    };
    readonly answer: Card;
  };
  /** Follow what happens in a project, as server-sent events that can be resumed. */
  readonly streamEvents: {
    readonly arguments: {
      readonly project: string;
      /** The seq of the last event that was seen; 0 from the beginning, absent from now on. */
      readonly after?: number;
      /** Only events of this agent. */
      readonly agent_id?: string;
      /** Only events of this turn. */
      readonly agent_turn_id?: string;
    };
    readonly answer: Event;
  };
  /** Wait for calls of a target and take them. */
  readonly claimCalls: {
    readonly arguments: {
      readonly project: string;
      readonly target: string;
      readonly body?: {
        /** Default 1. */
        readonly max?: number;
        /** How long to wait for a call. Default 0. */
        readonly wait_ms?: number;
        /** A name for whoever reads the logs. */
        readonly executor?: string;
        /** Makes the claim repeatable: the same id is answered the same calls. */
        readonly claim_id?: string;
      };
    };
    readonly answer: {
      readonly calls: readonly ClaimedCall[];
    };
  };
  /** Call an internal tool in an agent's name and wait for its result. */
  readonly godCallPmo: {
    readonly arguments: {
      readonly project: string;
      readonly tool: string;
      /** The W3C context of the caller: what the request starts is in its trace. */
      readonly traceparent?: string;
      readonly body: {
        readonly caller_agent_id: string;
        /** Default: public. */
        readonly channel_id?: string;
        readonly args?: Readonly<Record<string, unknown>>;
        readonly after_execution?: "suspend" | "terminate";
        readonly timeout_seconds?: number;
        readonly trace_id?: string;
      };
    };
    readonly answer: {
      readonly status: string;
      readonly agent_turn_id: string;
      readonly tool_call_id: string;
      readonly step_id: string;
      readonly tool_result_card_id: string | null;
      readonly tool_result: Readonly<Record<string, unknown>> | null;
    };
  };
  /** Stop a turn of an agent, whatever it is doing. */
  readonly godStop: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly agent_id: string;
        readonly agent_turn_id: string;
        readonly channel_id?: string;
        /** Taken for clients of CommonGround; the turn alone says who is told. */
        readonly target?: string;
        readonly reason?: string;
      };
    };
    readonly answer: {
      readonly status: string;
    };
  };
  /** List what was changed or refused, by whom, the newest first. */
  readonly listAudit: {
    readonly arguments: {
      readonly project: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly entries: readonly AuditEntry[];
      readonly next_cursor: string | null;
    };
  };
  /** List messages that nobody could deal with, the newest first. */
  readonly listDeadLetters: {
    readonly arguments: {
      readonly project: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly dead_letters: readonly DeadLetter[];
      readonly next_cursor: string | null;
    };
  };
  /** Count what happened in a span of time; traces are looked at where they are collected, so there is no URL to give. */
  readonly getReport: {
    readonly arguments: {
      readonly project: string;
      /** The beginning, at most 31 days before the end; default: a day before it. */
      readonly since?: string;
      /** The end; default: now. */
      readonly until?: string;
    };
    readonly answer: Report;
  };
  /** List the profiles of a project, by name, without their documents. */
  readonly listProfiles: {
    readonly arguments: {
      readonly project: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly profiles: readonly ProfileSummary[];
      readonly next_cursor: string | null;
    };
  };
  /** Upload a profile as YAML, or as the field file of a form; it replaces the one of its name. */
  readonly uploadProfile: {
    readonly arguments: {
      readonly project: string;
      readonly body: string | Uint8Array;
    };
    readonly answer: Profile;
  };
  /** Read a profile with its document; its ETag is its box. */
  readonly getProfile: {
    readonly arguments: {
      readonly project: string;
      readonly profile: string;
    };
    readonly answer: Profile;
  };
  /** Upload a profile under the name of the path, which its document must have. */
  readonly putProfile: {
    readonly arguments: {
      readonly project: string;
      readonly profile: string;
      /** The ETag of the version that was read; 412 when there is another by now. */
      readonly ifMatch?: string;
      readonly body: string | Uint8Array;
    };
    readonly answer: Profile;
  };
  /** Remove a profile by its name; agents made from it keep theirs. */
  readonly deleteProfile: {
    readonly arguments: {
      readonly project: string;
      readonly profile: string;
    };
    readonly answer: undefined;
  };
  /** List what every agent of a project does now, by agent id. */
  readonly listHeads: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channel_id?: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly heads: readonly Head[];
      readonly next_cursor: string | null;
    };
  };
  /** List who asked whom for what (turns, joins, calls, reports), the newest first. */
  readonly listExecutionEdges: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channel_id?: string;
      /** Only where this agent is the source or the target. */
      readonly agent_id?: string;
      /** Only edges of this kind. */
      readonly primitive?: "enqueue" | "join" | "tool_call" | "report";
      /** Only requests, or only responses. */
      readonly edge_phase?: "request" | "response";
      /** Only of this trace. */
      readonly trace_id?: string;
      /** Only below this step. */
      readonly parent_step_id?: string;
      /** Only edges that belong to this call or turn. */
      readonly correlation_id?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly edges: readonly ExecutionEdge[];
      readonly next_cursor: string | null;
    };
  };
  /** List who made or derived which agent, the newest first. */
  readonly listIdentityEdges: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channel_id?: string;
      /** Only where this agent is the source or the target. */
      readonly agent_id?: string;
      /** Only where the target belongs to this agent. */
      readonly owner_agent_id?: string;
      /** Only where this kind of worker runs the target. */
      readonly worker_target?: string;
      /** Only where the target has this tag. */
      readonly tag?: string;
      /** Only this action, such as create or derive. */
      readonly action?: string;
      /** Only of this trace. */
      readonly trace_id?: string;
      /** Only below this step. */
      readonly parent_step_id?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly edges: readonly IdentityEdge[];
      readonly next_cursor: string | null;
    };
  };
  /** List steps by when they started; a cursor is the next_cursor of a page before, nothing else. */
  readonly listSteps: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channel_id?: string;
      /** Only of this agent. */
      readonly agent_id?: string;
      /** Only of this turn. */
      readonly agent_turn_id?: string;
      /** Only this step. */
      readonly step_id?: string;
      /** Only of this trace. */
      readonly trace_id?: string;
      /** Only below this step. */
      readonly parent_step_id?: string;
      /** Only steps in this state. */
      readonly status?: "waiting" | "done" | "ended";
      /** Only steps that started after this time. */
      readonly started_after?: string;
      /** Only steps that started before this time. */
      readonly started_before?: string;
      /** desc (default): the newest first. */
      readonly order?: "asc" | "desc";
      /** How many to answer at most, from 1 to 300. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly steps: readonly Step[];
      readonly next_cursor: string | null;
    };
  };
  /** List the tools of a project by name. */
  readonly listTools: {
    readonly arguments: {
      readonly project: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly tools: readonly Tool[];
      readonly next_cursor: string | null;
    };
  };
  /** Upload a document that defines tools. */
  readonly uploadTools: {
    readonly arguments: {
      readonly project: string;
      readonly body: string | Uint8Array;
    };
    readonly answer: {
      readonly tools: readonly Tool[];
      /** Keys of the document that mean nothing here. */
      readonly ignored: readonly unknown[];
    };
  };
  /** Read the definition of a tool. */
  readonly getTool: {
    readonly arguments: {
      readonly project: string;
      readonly tool: string;
      /** Of an earlier definition. */
      readonly digest?: string;
    };
    readonly answer: Tool;
  };
  /** Create or replace one tool by a document that defines it. */
  readonly putTool: {
    readonly arguments: {
      readonly project: string;
      readonly tool: string;
      /** The ETag of the version that was read; 412 when there is another by now. */
      readonly ifMatch?: string;
      /** * where the tool must not exist yet. */
      readonly ifNoneMatch?: string;
      readonly body: string | Uint8Array;
    };
    readonly answer: Tool;
  };
  /** Remove a tool that has no open calls. */
  readonly deleteTool: {
    readonly arguments: {
      readonly project: string;
      readonly tool: string;
    };
    readonly answer: undefined;
  };
  /** Call a tool with arguments and wait for its result, up to 30 seconds. */
  readonly callTool: {
    readonly arguments: {
      readonly project: string;
      readonly tool: string;
      /** The same key with the same request is the same call. */
      readonly idempotencyKey?: string;
      /** The W3C context of the caller: what the request starts is in its trace. */
      readonly traceparent?: string;
      readonly body?: {
        readonly arguments?: Readonly<Record<string, unknown>>;
        readonly channel_id?: string;
        /** Whose workspace and name the call has. */
        readonly agent_id?: string;
        readonly wait_seconds?: number;
      };
    };
    readonly answer: ToolCallEnded | ToolCallWaiting;
  };
  /** List turns, newest first. */
  readonly listTurns: {
    readonly arguments: {
      readonly project: string;
      /** Only turns with this status; active: begun and not ended. */
      readonly status?: "active" | "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
      /** Only turns of this agent. */
      readonly agent_id?: string;
      /** Only turns that this turn asked for, by its agent_turn_id. */
      readonly parent?: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly turns: readonly TurnSummary[];
      readonly next_cursor: string | null;
    };
  };
  /** Ask an agent for a turn; it is answered when the turn is safely stored. */
  readonly enqueueTurn: {
    readonly arguments: {
      readonly project: string;
      /** The same key with the same request is the same turn. */
      readonly idempotencyKey?: string;
      /** The W3C context of the caller: what the request starts is in its trace. */
      readonly traceparent?: string;
      readonly body: {
        /** The agent's name, or agent_id. */
        readonly agent?: string;
        readonly agent_id?: string;
        /** Which instance of the named agent. */
        readonly instance_key?: string;
        /** Default: public. */
        readonly channel_id?: string;
        readonly input: string;
        /** true: it remembers no earlier turn, and no later one remembers what was before it. */
        readonly is_fresh?: boolean;
      };
    };
    readonly answer: EnqueuedTurn;
  };
  /** Look at one turn with its steps, calls, children, timeline and what it waits for. */
  readonly getTurn: {
    readonly arguments: {
      readonly project: string;
      readonly turn: string;
    };
    readonly answer: Turn;
  };
  /** Stop a turn that has not ended, and the turns that it asked for. */
  readonly stopTurn: {
    readonly arguments: {
      readonly project: string;
      readonly turn: string;
      readonly body?: {
        readonly reason?: string;
      };
    };
    readonly answer: StoppedTurn;
  };
  /** Call a tool from a user interface, as an agent of the UI worker, and get its acknowledgement. */
  readonly sendUiAction: {
    readonly arguments: {
      readonly project: string;
      /** The same key with the same request is the same action. */
      readonly idempotencyKey?: string;
      /** The W3C context of the caller: what the request starts is in its trace. */
      readonly traceparent?: string;
      readonly body: {
        /** An agent whose worker target is `ui_worker`. */
        readonly agent_id: string;
        /** A tool with `options.ui_allowed: true`. */
        readonly tool_name: string;
        readonly args: Readonly<Record<string, unknown>>;
        /** Becomes the id of the tool call; made here if absent. */
        readonly action_id?: string;
        /** What the action is known by, with the tool's name; else its action_id. */
        readonly message_id?: string;
        readonly metadata?: Readonly<Record<string, unknown>>;
        readonly channel_id?: string;
        readonly wait_seconds?: number;
      };
    };
    readonly answer: UiActionAck | UiActionAccepted;
  };
  /** List what was changed or refused outside of any project, the newest first; only for an administrator of all projects. */
  readonly listStoreAudit: {
    readonly arguments: {
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly entries: readonly AuditEntry[];
      readonly next_cursor: string | null;
    };
  };
  /** Check the invariants of the whole store; only for an administrator of all projects. */
  readonly verifyStore: {
    readonly arguments: {
      /** true: nothing should be under way any more. */
      readonly drained?: boolean;
    };
    readonly answer: VerifyReport;
  };
}

export const OPERATIONS = {
  getHealth: {
    method: "GET",
    path: "/health",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  getLive: {
    method: "GET",
    path: "/health/live",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  getReady: {
    method: "GET",
    path: "/health/ready",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  listKeys: {
    method: "GET",
    path: "/keys",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  createKey: {
    method: "POST",
    path: "/keys",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  revokeKey: {
    method: "DELETE",
    path: "/keys/{key}",
    query: [],
    headers: {},
    body: null,
    answer: "none",
  },
  getLlmsText: {
    method: "GET",
    path: "/llms.txt",
    query: [],
    headers: {},
    body: null,
    answer: "text",
  },
  getOpenApi: {
    method: "GET",
    path: "/openapi.json",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  listProjects: {
    method: "GET",
    path: "/projects",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  createProject: {
    method: "POST",
    path: "/projects",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  getProject: {
    method: "GET",
    path: "/projects/{project}",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  updateProject: {
    method: "PATCH",
    path: "/projects/{project}",
    query: [],
    headers: { ifMatch: "if-match" },
    body: "application/json",
    answer: "json",
  },
  deleteProject: {
    method: "DELETE",
    path: "/projects/{project}",
    query: [],
    headers: {},
    body: null,
    answer: "none",
  },
  listAgents: {
    method: "GET",
    path: "/projects/{project}/agents",
    query: ["worker_target","tag","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  createAgent: {
    method: "POST",
    path: "/projects/{project}/agents",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  getAgent: {
    method: "GET",
    path: "/projects/{project}/agents/{agent}",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  resetAgent: {
    method: "POST",
    path: "/projects/{project}/agents/{agent}/reset",
    query: [],
    headers: { idempotencyKey: "idempotency-key" },
    body: "application/json",
    answer: "json",
  },
  bootstrapProject: {
    method: "POST",
    path: "/projects/{project}/bootstrap",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  readBoxes: {
    method: "POST",
    path: "/projects/{project}/boxes/batch",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  getBox: {
    method: "GET",
    path: "/projects/{project}/boxes/{box}",
    query: ["limit"],
    headers: {},
    body: null,
    answer: "json",
  },
  listBoxCards: {
    method: "GET",
    path: "/projects/{project}/boxes/{box}/cards",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  heartbeatCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/heartbeat",
    query: [],
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
  },
  openCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/open",
    query: [],
    headers: { cgCallTicket: "cg-call-ticket" },
    body: "application/json",
    answer: "json",
  },
  reportCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/report",
    query: [],
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
  },
  putResultCard: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/result-card",
    query: [],
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
  },
  callRuntime: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/runtime/{operation}",
    query: [],
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
  },
  readCards: {
    method: "POST",
    path: "/projects/{project}/cards/batch",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  getCard: {
    method: "GET",
    path: "/projects/{project}/cards/{card}",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  streamEvents: {
    method: "GET",
    path: "/projects/{project}/events",
    query: ["after","agent_id","agent_turn_id"],
    headers: {},
    body: null,
    answer: "events",
  },
  claimCalls: {
    method: "POST",
    path: "/projects/{project}/executors/{target}/claim",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  godCallPmo: {
    method: "POST",
    path: "/projects/{project}/god/pmo/{tool}:call",
    query: [],
    headers: { traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
  },
  godStop: {
    method: "POST",
    path: "/projects/{project}/god/stop",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  listAudit: {
    method: "GET",
    path: "/projects/{project}/observability/audit",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  listDeadLetters: {
    method: "GET",
    path: "/projects/{project}/observability/dead-letters",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  getReport: {
    method: "GET",
    path: "/projects/{project}/observability/report",
    query: ["since","until"],
    headers: {},
    body: null,
    answer: "json",
  },
  listProfiles: {
    method: "GET",
    path: "/projects/{project}/profiles",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  uploadProfile: {
    method: "POST",
    path: "/projects/{project}/profiles",
    query: [],
    headers: {},
    body: "application/yaml",
    answer: "json",
  },
  getProfile: {
    method: "GET",
    path: "/projects/{project}/profiles/{profile}",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  putProfile: {
    method: "PUT",
    path: "/projects/{project}/profiles/{profile}",
    query: [],
    headers: { ifMatch: "if-match" },
    body: "application/yaml",
    answer: "json",
  },
  deleteProfile: {
    method: "DELETE",
    path: "/projects/{project}/profiles/{profile}",
    query: [],
    headers: {},
    body: null,
    answer: "none",
  },
  listHeads: {
    method: "GET",
    path: "/projects/{project}/state/agents",
    query: ["channel_id","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  listExecutionEdges: {
    method: "GET",
    path: "/projects/{project}/state/execution/edges",
    query: ["channel_id","agent_id","primitive","edge_phase","trace_id","parent_step_id","correlation_id","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  listIdentityEdges: {
    method: "GET",
    path: "/projects/{project}/state/identity/edges",
    query: ["channel_id","agent_id","owner_agent_id","worker_target","tag","action","trace_id","parent_step_id","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  listSteps: {
    method: "GET",
    path: "/projects/{project}/state/steps",
    query: ["channel_id","agent_id","agent_turn_id","step_id","trace_id","parent_step_id","status","started_after","started_before","order","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  listTools: {
    method: "GET",
    path: "/projects/{project}/tools",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  uploadTools: {
    method: "POST",
    path: "/projects/{project}/tools",
    query: [],
    headers: {},
    body: "application/yaml",
    answer: "json",
  },
  getTool: {
    method: "GET",
    path: "/projects/{project}/tools/{tool}",
    query: ["digest"],
    headers: {},
    body: null,
    answer: "json",
  },
  putTool: {
    method: "PUT",
    path: "/projects/{project}/tools/{tool}",
    query: [],
    headers: { ifMatch: "if-match", ifNoneMatch: "if-none-match" },
    body: "application/yaml",
    answer: "json",
  },
  deleteTool: {
    method: "DELETE",
    path: "/projects/{project}/tools/{tool}",
    query: [],
    headers: {},
    body: null,
    answer: "none",
  },
  callTool: {
    method: "POST",
    path: "/projects/{project}/tools/{tool}:call",
    query: [],
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
  },
  listTurns: {
    method: "GET",
    path: "/projects/{project}/turns",
    query: ["status","agent_id","parent","limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  enqueueTurn: {
    method: "POST",
    path: "/projects/{project}/turns",
    query: [],
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
  },
  getTurn: {
    method: "GET",
    path: "/projects/{project}/turns/{turn}",
    query: [],
    headers: {},
    body: null,
    answer: "json",
  },
  stopTurn: {
    method: "POST",
    path: "/projects/{project}/turns/{turn}/stop",
    query: [],
    headers: {},
    body: "application/json",
    answer: "json",
  },
  sendUiAction: {
    method: "POST",
    path: "/projects/{project}/ui-actions",
    query: [],
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
  },
  listStoreAudit: {
    method: "GET",
    path: "/store/audit",
    query: ["limit","cursor"],
    headers: {},
    body: null,
    answer: "json",
  },
  verifyStore: {
    method: "GET",
    path: "/store/verify",
    query: ["drained"],
    headers: {},
    body: null,
    answer: "json",
  },
} as const satisfies Record<keyof Operations, OperationSpec>;
