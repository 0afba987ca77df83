// Generated from docs/reference/openapi.json by scripts/generate.ts. Do not edit.

import type { OperationSpec } from "./operation-spec.ts";
import type { WireShapes } from "./wire-form.ts";

/** An agent of the roster: an instance of a profile, or one of its own. */
export type Agent = {
  readonly projectId: string;
  readonly agentId: string;
  readonly profileBoxId: string | null;
  readonly workerTarget: string;
  readonly tags: readonly string[];
  readonly displayName: string | null;
  readonly ownerAgentId: string | null;
  readonly status: "active" | "inactive";
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly lastSeenAt: string | null;
};

/** An API key, without its text. */
export type ApiKey = {
  readonly keyId: string;
  readonly projectId: string | null;
  readonly role: "viewer" | "operator" | "executor" | "admin";
  readonly targets: readonly string[];
  readonly delegationPolicy: {
    readonly operations?: readonly ("request" | "send" | "spawn")[];
    readonly targetTags?: readonly string[];
    readonly targetProfiles?: readonly string[];
  } | null;
  readonly label: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
};

/** What was changed or refused, by whom. */
export type AuditEntry = {
  readonly auditId: number;
  readonly projectId: string | null;
  readonly kind: string;
  readonly code: string;
  readonly toolCallId: string | null;
  readonly agentTurnId: string | null;
  readonly principal: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
};

/** The last cards of a box, in their order. */
export type Box = {
  readonly boxId: string;
  readonly cardIds: readonly string[];
  readonly cards?: readonly Card[];
};

/** A call of a tool. */
export type Call = {
  readonly toolCallId: string;
  readonly stepId: string;
  readonly toolName: string;
  readonly targetSubject: string;
  readonly effect: "read" | "idempotent" | "once";
  readonly waitStatus: "waiting" | "received" | "applied" | "dropped";
  readonly attempt: number;
  readonly claimedBy: string | null;
  readonly leaseUntil: string | null;
  readonly deadlineAt: string;
  readonly settledBy: string | null;
  readonly resultCardId: string | null;
  readonly resultStatus: "success" | "failed" | "canceled" | "timeout" | "partial" | null;
  readonly createdAt: string;
  readonly receivedAt: string | null;
  readonly appliedAt: string | null;
  /** Of a call that waits: for what. */
  readonly why?: string;
};

/** A card: an immutable record of which everything else is a projection. */
export type Card = {
  readonly cardId: string;
  readonly projectId: string;
  readonly type: string;
  readonly authorId: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly toolCalls: unknown;
  readonly toolCallId: string | null;
  readonly ttlSeconds: number | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
};

/** A card with its place in a box. */
export type CardInBox = {
  readonly cardId: string;
  readonly projectId: string;
  readonly type: string;
  readonly authorId: string;
  readonly content: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly toolCalls: unknown;
  readonly toolCallId: string | null;
  readonly ttlSeconds: number | null;
  readonly expiresAt: string | null;
  readonly createdAt: string;
  readonly pos: number;
};

/** A call that an executor has taken, with all that it needs to run it. */
export type ClaimedCall = {
  readonly toolCallId: string;
  readonly toolCallCardId: string;
  readonly toolName: string;
  readonly arguments: unknown;
  /** Of a call with the argument `session_id`: the session of its project and agent under that name. */
  readonly sessionKey?: string;
  readonly attempt: number;
  /** `reconcile`: an earlier attempt may have acted; find out what became of it first. */
  readonly mode: string;
  readonly idempotencyKey: string;
  readonly afterExecution: "suspend" | "terminate";
  readonly leaseExpiresAt: string;
  readonly deadlineAt: string;
  /** Goes back as CG-Report-Capability with everything about this call. */
  readonly capability: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly effect: "read" | "idempotent" | "once";
  readonly message: unknown;
  readonly definition: unknown;
  /** The instance that calls. `workdir`: its tools work in this directory of that agent's workspace, and not in one of its own. */
  readonly caller: {
    readonly agentName?: string;
    readonly instanceKey?: string;
    readonly workdir?: {
      readonly agentId: string;
      readonly path: string;
    };
  };
};

/** An instance whose conversation begins anew. */
export type ConversationReset = {
  readonly agentId: string;
  readonly cardId: string;
  /** The number of the first turn that belongs to the conversation from now on. */
  readonly conversationFrom: number;
};

/** A message that could not be processed, and why. */
export type DeadLetter = {
  readonly deadLetterId: number;
  readonly projectId: string;
  readonly correlationId: string | null;
  readonly reason: string;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
};

/** The content of the turn's deliverable card: text or data. */
export type Deliverable = {
  readonly cardId: string;
  /** What was said, of an agent that answers in words. */
  readonly text?: string;
  /** What was answered as JSON; of a tool call without an agent, its whole result. */
  readonly data?: Readonly<Record<string, unknown>> | readonly unknown[];
};

/** A turn that is stored. */
export type EnqueuedTurn = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
};

/** What happened to a turn: its state changed, or it has ended. */
export type Event = {
  readonly seq: number;
  readonly agentId: string;
  readonly agentTurnId: string;
  readonly kind: "state" | "task";
  readonly status: string;
  readonly turnEpoch: number;
  readonly stepId: string | null;
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly createdAt: string;
};

/** Who asked whom for what: a turn, a join, a call or a report. */
export type ExecutionEdge = {
  readonly edgeId: string;
  readonly channelId: string;
  readonly primitive: "enqueue" | "join" | "tool_call" | "report";
  readonly edgePhase: "request" | "response";
  readonly sourceAgentId: string | null;
  readonly sourceAgentTurnId: string | null;
  readonly sourceStepId: string | null;
  readonly targetAgentId: string | null;
  readonly targetAgentTurnId: string | null;
  readonly correlationId: string;
  readonly enqueueMode: string | null;
  readonly recursionDepth: number;
  readonly traceId: string | null;
  readonly parentStepId: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
};

/** What an agent does now. */
export type Head = {
  readonly projectId: string;
  readonly agentId: string;
  readonly status: "idle" | "dispatched" | "running" | "suspended";
  readonly activeAgentTurnId: string | null;
  readonly activeChannelId: string | null;
  readonly turnEpoch: number;
  readonly holder: string | null;
  readonly stepId: string | null;
  readonly waitingToolCount: number;
  readonly resumeDeadline: string | null;
  readonly updatedAt: string;
};

/** How a process is, check by check. */
export type Health = {
  readonly status: "ok" | "degraded" | "unready";
  readonly checks: readonly HealthCheck[];
  readonly version?: string;
};

/** One thing that was looked at, and what was found. */
export type HealthCheck = {
  readonly name: string;
  readonly status: "ok" | "degraded" | "unready";
  readonly says: string;
};

/** Who made or derived which agent. */
export type IdentityEdge = {
  readonly edgeId: string;
  readonly channelId: string;
  readonly action: string;
  readonly sourceAgentId: string | null;
  readonly targetAgentId: string;
  readonly ownerAgentId: string | null;
  readonly workerTarget: string | null;
  readonly tags: readonly string[];
  readonly traceId: string | null;
  readonly parentStepId: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
};

/** The process answers. */
export type Live = {
  readonly status: "ok";
};

/** An API key that was just made, with its text. */
export type NewApiKey = {
  readonly keyId: string;
  /** The key itself. It is shown this once and kept nowhere. */
  readonly key: string;
  readonly role: "viewer" | "operator" | "executor" | "admin";
  readonly projectId: string | null;
  readonly targets: readonly string[];
};

/** A refusal, as RFC 9457 has it. */
export type Problem = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** One of the error codes, e.g. bad_request; the list is open. */
  readonly errorCode: string;
  readonly errorMessage: string;
  readonly errorDetail?: unknown;
  readonly requestId: string;
};

/** What agents are made from, with its document. */
export type Profile = {
  readonly projectId: string;
  readonly profileBoxId: string;
  readonly name: string;
  readonly workerTarget: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly updatedAt: string;
  readonly systemPromptCompiled: string;
  readonly profile: Readonly<Record<string, unknown>> | null;
};

/** What agents are made from, without its document. */
export type ProfileSummary = {
  readonly projectId: string;
  readonly profileBoxId: string;
  readonly name: string;
  readonly workerTarget: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly updatedAt: string;
};

/** A project: what its agents, tools, turns and keys belong to. */
export type Project = {
  readonly projectId: string;
  readonly title: string;
  readonly ownerId: string | null;
  readonly status: "active" | "inactive" | "archived" | "deleting";
  readonly revision: number;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** What happened in a span of time, counted. */
export type Report = {
  readonly since: string;
  readonly until: string | null;
  readonly turns: readonly ({
    readonly status: string;
    readonly count: number;
    readonly p50Ms: number | null;
    readonly p95Ms: number | null;
  })[];
  readonly calls: readonly ({
    readonly toolName: string;
    readonly count: number;
    readonly open: number;
    readonly success: number;
    readonly failed: number;
    readonly timeout: number;
    readonly canceled: number;
    readonly unknown: number;
    readonly attempts: number;
    readonly p50Ms: number | null;
    readonly p95Ms: number | null;
  })[];
  readonly refusals: readonly {
    readonly kind: string;
    readonly code: string;
    readonly count: number;
  }[];
  readonly deadLetters: number;
  readonly unserved: readonly {
    readonly target: string;
    readonly open: number;
    readonly oldestAt: string;
  }[];
  readonly backlog: {
    readonly queued: number;
    readonly active: number;
  };
};

/** One step of a turn: one answer of the model, and the calls in it. */
export type Step = {
  readonly projectId: string;
  readonly channelId: string;
  readonly agentId: string;
  readonly agentTurnId: string;
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly traceId: string;
  readonly status: "waiting" | "done" | "ended";
  readonly thoughtCardId: string;
  readonly outputBoxId: string;
  readonly toolCallIds: readonly string[];
  readonly startedAt: string;
};

/** A turn that was stopped. */
export type StoppedTurn = {
  readonly agentTurnId: string;
  readonly status: "canceled";
  readonly was: string;
};

/** Something that happened in a turn. */
export type TimelineEntry = {
  readonly at: string;
  readonly kind: string;
  readonly status: string | null;
  readonly stepId: string | null;
  readonly toolCallId: string | null;
  readonly name: string | null;
  readonly agentTurnId: string | null;
  readonly detail: unknown;
};

/** The definition of a tool of a project. */
export type Tool = {
  readonly projectId: string;
  readonly toolName: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly targetSubject: string;
  readonly afterExecution: "suspend" | "terminate";
  readonly options: Readonly<Record<string, unknown>>;
  /** Names the definition by what it says; it is the ETag. */
  readonly digest: string;
  readonly version: number;
  readonly createdAt?: string;
  readonly removed?: boolean;
  /** Keys of the document that mean nothing here. */
  readonly ignored?: readonly unknown[];
};

/** A call of a tool that has ended. */
export type ToolCallEnded = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly status: string;
  readonly result: unknown;
  readonly error: Readonly<Record<string, unknown>> | null;
};

/** A call of a tool that has not ended; its turn goes on. */
export type ToolCallWaiting = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly status: string;
  readonly why: string;
};

/** A turn with its steps, calls, children and timeline, and what it waits for. */
export type Turn = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly channelId: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  readonly traceId: string;
  readonly recursionDepth: number;
  readonly parentAgentTurnId: string | null;
  readonly deliverableCardId: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly input: string | null;
  readonly turnNumber: number | null;
  readonly conversationFrom: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
  readonly agentName: string | null;
  readonly instanceKey: string | null;
  /** Of a turn that has not ended: what it waits for, in one sentence. */
  readonly why?: string;
  readonly waitingFor: readonly Wait[];
  readonly deliverable: Deliverable | null;
  /** The newest ones, oldest first. */
  readonly steps: readonly TurnStep[];
  /** true: there are older ones; listSteps has them all. */
  readonly stepsCut: boolean;
  readonly calls: readonly Call[];
  readonly children: readonly TurnChild[];
  /** The newest entries, oldest first. */
  readonly timeline: readonly TimelineEntry[];
  /** true: older entries are left out. */
  readonly timelineCut: boolean;
};

/** A turn that another turn asked for. */
export type TurnChild = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly agentName: string | null;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  /** The call that asked for it, where that is known. */
  readonly toolCallId?: string;
};

/** Why an attempt at a call, or a turn, failed: for operators. */
export type TurnFailure = {
  readonly toolCallId: string | null;
  readonly toolName: string | null;
  readonly attempt: number | null;
  /** What was thrown: its message, the author's own frames first, then its causes. Secrets are masked. */
  readonly stack: string;
  readonly createdAt: string;
};

/** A step of a turn. */
export type TurnStep = {
  readonly stepId: string;
  readonly startedAt: string;
  readonly status: "waiting" | "done" | "ended";
};

/** A turn, as lists have it. */
export type TurnSummary = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly channelId: string;
  readonly status: "queued" | "dispatched" | "running" | "suspended" | "success" | "failed" | "canceled" | "timeout" | "partial";
  readonly traceId: string;
  readonly recursionDepth: number;
  readonly parentAgentTurnId: string | null;
  readonly deliverableCardId: string | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly input: string | null;
  readonly turnNumber: number | null;
  readonly conversationFrom: number | null;
  readonly createdAt: string;
  readonly endedAt: string | null;
};

/** A UI action that is stored and has not ended. */
export type UiActionAccepted = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly actionId: string;
  readonly messageId?: string;
  readonly status: "accepted";
};

/** The last acknowledgement of a UI action: it ran, or no tool ran. */
export type UiActionAck = {
  readonly agentTurnId: string;
  readonly agentId: string;
  readonly actionId: string;
  readonly messageId?: string;
  readonly status: "done" | "rejected";
  readonly resultStatus?: string;
  readonly toolResultCardId?: string;
  readonly errorCode?: string;
  readonly error?: string;
};

/** The invariants of a store that were checked, and those that do not hold. */
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

/** What a turn or a call waits for. */
export type Wait = {
  readonly code: "queued_behind" | "no_worker" | "working" | "no_executor" | "executor" | "local_tool" | "children" | "retry" | "result_ready";
  readonly says: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly target?: string;
  readonly executor?: string;
  readonly agentTurnIds?: readonly string[];
  readonly deadlineAt?: string;
  /** Of a call that waits for an executor: what its deadline follows from. */
  readonly boundedBy?: string;
  readonly since?: string;
};

/** The documents of the API by the names that its OpenAPI document gives them. */
export interface Schemas {
  readonly Agent: Agent;
  readonly ApiKey: ApiKey;
  readonly AuditEntry: AuditEntry;
  readonly Box: Box;
  readonly Call: Call;
  readonly Card: Card;
  readonly CardInBox: CardInBox;
  readonly ClaimedCall: ClaimedCall;
  readonly ConversationReset: ConversationReset;
  readonly DeadLetter: DeadLetter;
  readonly Deliverable: Deliverable;
  readonly EnqueuedTurn: EnqueuedTurn;
  readonly Event: Event;
  readonly ExecutionEdge: ExecutionEdge;
  readonly Head: Head;
  readonly Health: Health;
  readonly HealthCheck: HealthCheck;
  readonly IdentityEdge: IdentityEdge;
  readonly Live: Live;
  readonly NewApiKey: NewApiKey;
  readonly Problem: Problem;
  readonly Profile: Profile;
  readonly ProfileSummary: ProfileSummary;
  readonly Project: Project;
  readonly Report: Report;
  readonly Step: Step;
  readonly StoppedTurn: StoppedTurn;
  readonly TimelineEntry: TimelineEntry;
  readonly Tool: Tool;
  readonly ToolCallEnded: ToolCallEnded;
  readonly ToolCallWaiting: ToolCallWaiting;
  readonly Turn: Turn;
  readonly TurnChild: TurnChild;
  readonly TurnFailure: TurnFailure;
  readonly TurnStep: TurnStep;
  readonly TurnSummary: TurnSummary;
  readonly UiActionAccepted: UiActionAccepted;
  readonly UiActionAck: UiActionAck;
  readonly VerifyReport: VerifyReport;
  readonly Wait: Wait;
}

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
      readonly nextCursor: string | null;
    };
  };
  /** Make an API key; its text is in this answer and nowhere else. */
  readonly createKey: {
    readonly arguments: {
      readonly body: {
        readonly role: "viewer" | "operator" | "executor" | "admin";
        /** Absent or null: every project; for a key of one project, that one. */
        readonly projectId?: string | null;
        /** Of an executor: whose calls it may take. */
        readonly targets?: readonly string[];
        /** Of an executor: which agents its code may reach through `runtime`. Absent fields do not limit. */
        readonly delegationPolicy?: {
          readonly operations?: readonly ("request" | "send" | "spawn")[];
          readonly targetTags?: readonly string[];
          readonly targetProfiles?: readonly string[];
        };
        readonly label?: string;
        readonly expiresInSeconds?: number;
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
      readonly nextCursor: string | null;
    };
  };
  /** Make a project; only for an administrator of all projects. */
  readonly createProject: {
    readonly arguments: {
      readonly body: {
        readonly projectId?: string;
        readonly title: string;
        readonly ownerId: string;
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
      readonly workerTarget?: string;
      /** Only agents with this tag. */
      readonly tag?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly agents: readonly Agent[];
      readonly nextCursor: string | null;
    };
  };
  /** Add an agent to the roster, from a profile or with a worker target of its own. */
  readonly createAgent: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly agentId: string;
        readonly profileBoxId?: string;
        readonly profileName?: string;
        readonly workerTarget?: string;
        readonly tags?: readonly string[];
        readonly displayName?: string;
        readonly ownerAgentId?: string;
        readonly metadata?: Readonly<Record<string, unknown>>;
        /** Only true: an agent always has its state. */
        readonly initState?: boolean;
        readonly channelId?: string;
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
        readonly boxIds: readonly string[];
        /** Answer the cards themselves, too. */
        readonly hydrate?: boolean;
        readonly limit?: number;
      };
    };
    readonly answer: {
      readonly boxes: readonly Box[];
      readonly missingBoxIds: readonly string[];
      readonly missingCardIds: readonly string[];
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
      readonly nextCursor: string | null;
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
      readonly leaseExpiresAt: string;
      /** True: the result is no longer wanted; stop the tool. */
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
        readonly toolCallCardId?: string;
        /** A name, for operators who read the logs. */
        readonly executor?: string;
        /** Makes the claim repeatable: the same id is answered the same calls. */
        readonly claimId?: string;
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
        readonly afterExecution?: unknown;
        /** The card that result-card answered. */
        readonly toolResultCardId?: string;
        /** Where the tool failed, a text, as its language writes it: for operators, in no card. Cut after 8192 characters. */
        readonly stack?: unknown;
        readonly messageType?: string;
        readonly authorId?: string;
        readonly functionName?: string;
        readonly projectId?: unknown;
        readonly channelId?: unknown;
        readonly channel?: unknown;
        readonly agentId?: unknown;
        readonly agentTurnId?: unknown;
        readonly turnEpoch?: unknown;
        readonly stepId?: unknown;
        readonly toolCallId?: unknown;
        readonly traceId?: unknown;
        readonly traceparent?: unknown;
        readonly tracestate?: unknown;
        readonly parentAgentId?: unknown;
        readonly parentAgentTurnId?: unknown;
        readonly parentStepId?: unknown;
        readonly parentTraceparent?: unknown;
        readonly recursionDepth?: unknown;
      } & Readonly<Record<string, unknown>>;
    };
    readonly answer: {
      readonly outcome: "accepted" | "duplicate";
      readonly toolResultCardId?: string;
      readonly retryAt?: string;
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
        readonly cardId?: string;
        readonly authorId?: string;
        readonly functionName?: string;
      };
    };
    readonly answer: {
      readonly toolResultCardId: string;
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
        readonly cardIds: readonly string[];
      };
    };
    readonly answer: {
      readonly cards: readonly Card[];
      readonly missingIds: readonly string[];
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
      readonly agentId?: string;
      /** Only events of this turn. */
      readonly agentTurnId?: string;
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
        readonly waitMs?: number;
        /** A name, for operators who read the logs. */
        readonly executor?: string;
        /** Makes the claim repeatable: the same id is answered the same calls. */
        readonly claimId?: string;
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
        readonly callerAgentId: string;
        /** Default: public. */
        readonly channelId?: string;
        readonly args?: Readonly<Record<string, unknown>>;
        readonly afterExecution?: "suspend" | "terminate";
        readonly timeoutSeconds?: number;
        readonly traceId?: string;
      };
    };
    readonly answer: {
      readonly status: string;
      readonly agentTurnId: string;
      readonly toolCallId: string;
      readonly stepId: string;
      readonly toolResultCardId: string | null;
      readonly toolResult: Readonly<Record<string, unknown>> | null;
    };
  };
  /** Stop a turn of an agent, whatever it is doing. */
  readonly godStop: {
    readonly arguments: {
      readonly project: string;
      readonly body: {
        readonly agentId: string;
        readonly agentTurnId: string;
        readonly channelId?: string;
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
      readonly nextCursor: string | null;
    };
  };
  /** List messages that could not be processed, the newest first. */
  readonly listDeadLetters: {
    readonly arguments: {
      readonly project: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly deadLetters: readonly DeadLetter[];
      readonly nextCursor: string | null;
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
      readonly nextCursor: string | null;
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
      readonly channelId?: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly heads: readonly Head[];
      readonly nextCursor: string | null;
    };
  };
  /** List who asked whom for what (turns, joins, calls, reports), the newest first. */
  readonly listExecutionEdges: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channelId?: string;
      /** Only where this agent is the source or the target. */
      readonly agentId?: string;
      /** Only edges of this kind. */
      readonly primitive?: "enqueue" | "join" | "tool_call" | "report";
      /** Only requests, or only responses. */
      readonly edgePhase?: "request" | "response";
      /** Only of this trace. */
      readonly traceId?: string;
      /** Only below this step. */
      readonly parentStepId?: string;
      /** Only edges that belong to this call or turn. */
      readonly correlationId?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly edges: readonly ExecutionEdge[];
      readonly nextCursor: string | null;
    };
  };
  /** List who made or derived which agent, the newest first. */
  readonly listIdentityEdges: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channelId?: string;
      /** Only where this agent is the source or the target. */
      readonly agentId?: string;
      /** Only where the target belongs to this agent. */
      readonly ownerAgentId?: string;
      /** Only where this kind of worker runs the target. */
      readonly workerTarget?: string;
      /** Only where the target has this tag. */
      readonly tag?: string;
      /** Only this action, such as create or derive. */
      readonly action?: string;
      /** Only of this trace. */
      readonly traceId?: string;
      /** Only below this step. */
      readonly parentStepId?: string;
      /** How many to answer at most, from 1 to 500. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly edges: readonly IdentityEdge[];
      readonly nextCursor: string | null;
    };
  };
  /** List steps by when they started; a cursor is the next_cursor of a page before, nothing else. */
  readonly listSteps: {
    readonly arguments: {
      readonly project: string;
      /** Only in this channel. */
      readonly channelId?: string;
      /** Only of this agent. */
      readonly agentId?: string;
      /** Only of this turn. */
      readonly agentTurnId?: string;
      /** Only this step. */
      readonly stepId?: string;
      /** Only of this trace. */
      readonly traceId?: string;
      /** Only below this step. */
      readonly parentStepId?: string;
      /** Only steps in this state. */
      readonly status?: "waiting" | "done" | "ended";
      /** Only steps that started after this time. */
      readonly startedAfter?: string;
      /** Only steps that started before this time. */
      readonly startedBefore?: string;
      /** desc (default): the newest first. */
      readonly order?: "asc" | "desc";
      /** How many to answer at most, from 1 to 300. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly steps: readonly Step[];
      readonly nextCursor: string | null;
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
      readonly nextCursor: string | null;
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
        readonly channelId?: string;
        /** Whose workspace and name the call has. */
        readonly agentId?: string;
        readonly waitSeconds?: number;
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
      readonly agentId?: string;
      /** Only turns that this turn asked for, by its agent_turn_id. */
      readonly parent?: string;
      /** How many to answer at most, from 1 to 200. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly turns: readonly TurnSummary[];
      readonly nextCursor: string | null;
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
        readonly agentId?: string;
        /** Which instance of the named agent. */
        readonly instanceKey?: string;
        /** Default: public. */
        readonly channelId?: string;
        readonly input: string;
        /** true: it remembers no earlier turn, and no later one remembers what was before it. */
        readonly isFresh?: boolean;
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
  /** List the stacks of what failed in a turn, attempt by attempt, in the order of their reports. */
  readonly listTurnFailures: {
    readonly arguments: {
      readonly project: string;
      readonly turn: string;
      /** How many to answer at most, from 1 to 100. */
      readonly limit?: number;
      /** The next_cursor of the page before. */
      readonly cursor?: string;
    };
    readonly answer: {
      readonly failures: readonly TurnFailure[];
      readonly nextCursor: string | null;
    };
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
        readonly agentId: string;
        /** A tool with `options.ui_allowed: true`. */
        readonly toolName: string;
        readonly args: Readonly<Record<string, unknown>>;
        /** Becomes the id of the tool call; made here if absent. */
        readonly actionId?: string;
        /** What the action is known by, with the tool's name; else its action_id. */
        readonly messageId?: string;
        readonly metadata?: Readonly<Record<string, unknown>>;
        readonly channelId?: string;
        readonly waitSeconds?: number;
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
      readonly nextCursor: string | null;
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

/** Where the documents of the API are spelled differently on the wire. */
export const SHAPES: WireShapes = {
  Agent: {"fields":["project_id","agent_id","profile_box_id","worker_target","display_name","owner_agent_id","created_at","last_seen_at"]},
  ApiKey: {"fields":["key_id","project_id","delegation_policy","created_at","expires_at","revoked_at","last_used_at"],"within":{"delegation_policy":{"fields":["target_tags","target_profiles"]}}},
  AuditEntry: {"fields":["audit_id","project_id","tool_call_id","agent_turn_id","created_at"]},
  Box: {"fields":["box_id","card_ids"],"within":{"cards":["Card"]}},
  Call: {"fields":["tool_call_id","step_id","tool_name","target_subject","wait_status","claimed_by","lease_until","deadline_at","settled_by","result_card_id","result_status","created_at","received_at","applied_at"]},
  Card: {"fields":["card_id","project_id","author_id","tool_calls","tool_call_id","ttl_seconds","expires_at","created_at"]},
  CardInBox: {"fields":["card_id","project_id","author_id","tool_calls","tool_call_id","ttl_seconds","expires_at","created_at"]},
  ClaimedCall: {"fields":["tool_call_id","tool_call_card_id","tool_name","session_key","idempotency_key","after_execution","lease_expires_at","deadline_at"],"within":{"caller":{"fields":["agent_name","instance_key"],"within":{"workdir":{"fields":["agent_id"]}}}}},
  ConversationReset: {"fields":["agent_id","card_id","conversation_from"]},
  DeadLetter: {"fields":["dead_letter_id","project_id","correlation_id","created_at"]},
  Deliverable: {"fields":["card_id"]},
  EnqueuedTurn: {"fields":["agent_turn_id","agent_id"]},
  Event: {"fields":["agent_id","agent_turn_id","turn_epoch","step_id","created_at"]},
  ExecutionEdge: {"fields":["edge_id","channel_id","edge_phase","source_agent_id","source_agent_turn_id","source_step_id","target_agent_id","target_agent_turn_id","correlation_id","enqueue_mode","recursion_depth","trace_id","parent_step_id","created_at"]},
  Head: {"fields":["project_id","agent_id","active_agent_turn_id","active_channel_id","turn_epoch","step_id","waiting_tool_count","resume_deadline","updated_at"]},
  IdentityEdge: {"fields":["edge_id","channel_id","source_agent_id","target_agent_id","owner_agent_id","worker_target","trace_id","parent_step_id","created_at"]},
  NewApiKey: {"fields":["key_id","project_id"]},
  Problem: {"fields":["error_code","error_message","error_detail","request_id"]},
  Profile: {"fields":["project_id","profile_box_id","worker_target","updated_at","system_prompt_compiled"]},
  ProfileSummary: {"fields":["project_id","profile_box_id","worker_target","updated_at"]},
  Project: {"fields":["project_id","owner_id","created_at","updated_at"]},
  Report: {"fields":["dead_letters"],"within":{"turns":[{"fields":["p50_ms","p95_ms"]}],"calls":[{"fields":["tool_name","p50_ms","p95_ms"]}],"unserved":[{"fields":["oldest_at"]}]}},
  Step: {"fields":["project_id","channel_id","agent_id","agent_turn_id","step_id","parent_step_id","trace_id","thought_card_id","output_box_id","tool_call_ids","started_at"]},
  StoppedTurn: {"fields":["agent_turn_id"]},
  TimelineEntry: {"fields":["step_id","tool_call_id","agent_turn_id"]},
  Tool: {"fields":["project_id","tool_name","target_subject","after_execution","created_at"]},
  ToolCallEnded: {"fields":["agent_turn_id","agent_id"]},
  ToolCallWaiting: {"fields":["agent_turn_id","agent_id"]},
  Turn: {"fields":["agent_turn_id","agent_id","channel_id","trace_id","recursion_depth","parent_agent_turn_id","deliverable_card_id","error_code","error_message","turn_number","conversation_from","created_at","ended_at","agent_name","instance_key","waiting_for","steps_cut","timeline_cut"],"within":{"waiting_for":["Wait"],"deliverable":"Deliverable","steps":["TurnStep"],"calls":["Call"],"children":["TurnChild"],"timeline":["TimelineEntry"]}},
  TurnChild: {"fields":["agent_turn_id","agent_id","agent_name","tool_call_id"]},
  TurnFailure: {"fields":["tool_call_id","tool_name","created_at"]},
  TurnStep: {"fields":["step_id","started_at"]},
  TurnSummary: {"fields":["agent_turn_id","agent_id","channel_id","trace_id","recursion_depth","parent_agent_turn_id","deliverable_card_id","error_code","error_message","turn_number","conversation_from","created_at","ended_at"]},
  UiActionAccepted: {"fields":["agent_turn_id","agent_id","action_id","message_id"]},
  UiActionAck: {"fields":["agent_turn_id","agent_id","action_id","message_id","result_status","tool_result_card_id","error_code"]},
  Wait: {"fields":["tool_call_id","tool_name","agent_turn_ids","deadline_at","bounded_by"]},
};

/** By operation: where it is and how its arguments travel. */
export const OPERATIONS = {
  getHealth: {
    method: "GET",
    path: "/health",
    query: {},
    headers: {},
    body: null,
    answer: "json",
  },
  getLive: {
    method: "GET",
    path: "/health/live",
    query: {},
    headers: {},
    body: null,
    answer: "json",
  },
  getReady: {
    method: "GET",
    path: "/health/ready",
    query: {},
    headers: {},
    body: null,
    answer: "json",
  },
  listKeys: {
    method: "GET",
    path: "/keys",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"keys":["ApiKey"]}},
  },
  createKey: {
    method: "POST",
    path: "/keys",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["project_id","delegation_policy","expires_in_seconds"],"within":{"delegation_policy":{"fields":["target_tags","target_profiles"]}}},
    answerShape: "NewApiKey",
  },
  revokeKey: {
    method: "DELETE",
    path: "/keys/{key}",
    query: {},
    headers: {},
    body: null,
    answer: "none",
  },
  getLlmsText: {
    method: "GET",
    path: "/llms.txt",
    query: {},
    headers: {},
    body: null,
    answer: "text",
  },
  getOpenApi: {
    method: "GET",
    path: "/openapi.json",
    query: {},
    headers: {},
    body: null,
    answer: "json",
  },
  listProjects: {
    method: "GET",
    path: "/projects",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"projects":["Project"]}},
  },
  createProject: {
    method: "POST",
    path: "/projects",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["project_id","owner_id"]},
    answerShape: "Project",
  },
  getProject: {
    method: "GET",
    path: "/projects/{project}",
    query: {},
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Project",
  },
  updateProject: {
    method: "PATCH",
    path: "/projects/{project}",
    query: {},
    headers: { ifMatch: "if-match" },
    body: "application/json",
    answer: "json",
    answerShape: "Project",
  },
  deleteProject: {
    method: "DELETE",
    path: "/projects/{project}",
    query: {},
    headers: {},
    body: null,
    answer: "none",
  },
  listAgents: {
    method: "GET",
    path: "/projects/{project}/agents",
    query: { workerTarget: "worker_target", tag: "tag", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"agents":["Agent"]}},
  },
  createAgent: {
    method: "POST",
    path: "/projects/{project}/agents",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["agent_id","profile_box_id","profile_name","worker_target","display_name","owner_agent_id","init_state","channel_id"]},
    answerShape: "Agent",
  },
  getAgent: {
    method: "GET",
    path: "/projects/{project}/agents/{agent}",
    query: {},
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Agent",
  },
  resetAgent: {
    method: "POST",
    path: "/projects/{project}/agents/{agent}/reset",
    query: {},
    headers: { idempotencyKey: "idempotency-key" },
    body: "application/json",
    answer: "json",
    answerShape: "ConversationReset",
  },
  bootstrapProject: {
    method: "POST",
    path: "/projects/{project}/bootstrap",
    query: {},
    headers: {},
    body: null,
    answer: "json",
  },
  readBoxes: {
    method: "POST",
    path: "/projects/{project}/boxes/batch",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["box_ids"]},
    answerShape: {"fields":["missing_box_ids","missing_card_ids"],"within":{"boxes":["Box"]}},
  },
  getBox: {
    method: "GET",
    path: "/projects/{project}/boxes/{box}",
    query: { limit: "limit" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Box",
  },
  listBoxCards: {
    method: "GET",
    path: "/projects/{project}/boxes/{box}/cards",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"cards":["CardInBox"]}},
  },
  heartbeatCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/heartbeat",
    query: {},
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
    answerShape: {"fields":["lease_expires_at"]},
  },
  openCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/open",
    query: {},
    headers: { cgCallTicket: "cg-call-ticket" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["tool_call_card_id","claim_id"]},
    answerShape: "ClaimedCall",
  },
  reportCall: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/report",
    query: {},
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["after_execution","tool_result_card_id","message_type","author_id","function_name","project_id","channel_id","agent_id","agent_turn_id","turn_epoch","step_id","tool_call_id","trace_id","parent_agent_id","parent_agent_turn_id","parent_step_id","parent_traceparent","recursion_depth"]},
    answerShape: {"fields":["tool_result_card_id","retry_at"]},
  },
  putResultCard: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/result-card",
    query: {},
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["card_id","author_id","function_name"]},
    answerShape: {"fields":["tool_result_card_id"]},
  },
  callRuntime: {
    method: "POST",
    path: "/projects/{project}/calls/{call}/runtime/{operation}",
    query: {},
    headers: { cgReportCapability: "cg-report-capability" },
    body: "application/json",
    answer: "json",
  },
  readCards: {
    method: "POST",
    path: "/projects/{project}/cards/batch",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["card_ids"]},
    answerShape: {"fields":["missing_ids"],"within":{"cards":["Card"]}},
  },
  getCard: {
    method: "GET",
    path: "/projects/{project}/cards/{card}",
    query: {},
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Card",
  },
  streamEvents: {
    method: "GET",
    path: "/projects/{project}/events",
    query: { after: "after", agentId: "agent_id", agentTurnId: "agent_turn_id" },
    headers: {},
    body: null,
    answer: "events",
    answerShape: "Event",
  },
  claimCalls: {
    method: "POST",
    path: "/projects/{project}/executors/{target}/claim",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["wait_ms","claim_id"]},
    answerShape: {"within":{"calls":["ClaimedCall"]}},
  },
  godCallPmo: {
    method: "POST",
    path: "/projects/{project}/god/pmo/{tool}:call",
    query: {},
    headers: { traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["caller_agent_id","channel_id","after_execution","timeout_seconds","trace_id"]},
    answerShape: {"fields":["agent_turn_id","tool_call_id","step_id","tool_result_card_id","tool_result"]},
  },
  godStop: {
    method: "POST",
    path: "/projects/{project}/god/stop",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["agent_id","agent_turn_id","channel_id"]},
  },
  listAudit: {
    method: "GET",
    path: "/projects/{project}/observability/audit",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"entries":["AuditEntry"]}},
  },
  listDeadLetters: {
    method: "GET",
    path: "/projects/{project}/observability/dead-letters",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["dead_letters","next_cursor"],"within":{"dead_letters":["DeadLetter"]}},
  },
  getReport: {
    method: "GET",
    path: "/projects/{project}/observability/report",
    query: { since: "since", until: "until" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Report",
  },
  listProfiles: {
    method: "GET",
    path: "/projects/{project}/profiles",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"profiles":["ProfileSummary"]}},
  },
  uploadProfile: {
    method: "POST",
    path: "/projects/{project}/profiles",
    query: {},
    headers: {},
    body: "application/yaml",
    answer: "json",
    answerShape: "Profile",
  },
  getProfile: {
    method: "GET",
    path: "/projects/{project}/profiles/{profile}",
    query: {},
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Profile",
  },
  putProfile: {
    method: "PUT",
    path: "/projects/{project}/profiles/{profile}",
    query: {},
    headers: { ifMatch: "if-match" },
    body: "application/yaml",
    answer: "json",
    answerShape: "Profile",
  },
  deleteProfile: {
    method: "DELETE",
    path: "/projects/{project}/profiles/{profile}",
    query: {},
    headers: {},
    body: null,
    answer: "none",
  },
  listHeads: {
    method: "GET",
    path: "/projects/{project}/state/agents",
    query: { channelId: "channel_id", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"heads":["Head"]}},
  },
  listExecutionEdges: {
    method: "GET",
    path: "/projects/{project}/state/execution/edges",
    query: { channelId: "channel_id", agentId: "agent_id", primitive: "primitive", edgePhase: "edge_phase", traceId: "trace_id", parentStepId: "parent_step_id", correlationId: "correlation_id", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"edges":["ExecutionEdge"]}},
  },
  listIdentityEdges: {
    method: "GET",
    path: "/projects/{project}/state/identity/edges",
    query: { channelId: "channel_id", agentId: "agent_id", ownerAgentId: "owner_agent_id", workerTarget: "worker_target", tag: "tag", action: "action", traceId: "trace_id", parentStepId: "parent_step_id", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"edges":["IdentityEdge"]}},
  },
  listSteps: {
    method: "GET",
    path: "/projects/{project}/state/steps",
    query: { channelId: "channel_id", agentId: "agent_id", agentTurnId: "agent_turn_id", stepId: "step_id", traceId: "trace_id", parentStepId: "parent_step_id", status: "status", startedAfter: "started_after", startedBefore: "started_before", order: "order", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"steps":["Step"]}},
  },
  listTools: {
    method: "GET",
    path: "/projects/{project}/tools",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"tools":["Tool"]}},
  },
  uploadTools: {
    method: "POST",
    path: "/projects/{project}/tools",
    query: {},
    headers: {},
    body: "application/yaml",
    answer: "json",
    answerShape: {"within":{"tools":["Tool"]}},
  },
  getTool: {
    method: "GET",
    path: "/projects/{project}/tools/{tool}",
    query: { digest: "digest" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Tool",
  },
  putTool: {
    method: "PUT",
    path: "/projects/{project}/tools/{tool}",
    query: {},
    headers: { ifMatch: "if-match", ifNoneMatch: "if-none-match" },
    body: "application/yaml",
    answer: "json",
    answerShape: "Tool",
  },
  deleteTool: {
    method: "DELETE",
    path: "/projects/{project}/tools/{tool}",
    query: {},
    headers: {},
    body: null,
    answer: "none",
  },
  callTool: {
    method: "POST",
    path: "/projects/{project}/tools/{tool}:call",
    query: {},
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["channel_id","agent_id","wait_seconds"]},
    answerShape: {"fields":["agent_turn_id","agent_id"]},
  },
  listTurns: {
    method: "GET",
    path: "/projects/{project}/turns",
    query: { status: "status", agentId: "agent_id", parent: "parent", limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"turns":["TurnSummary"]}},
  },
  enqueueTurn: {
    method: "POST",
    path: "/projects/{project}/turns",
    query: {},
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["agent_id","instance_key","channel_id","is_fresh"]},
    answerShape: "EnqueuedTurn",
  },
  getTurn: {
    method: "GET",
    path: "/projects/{project}/turns/{turn}",
    query: {},
    headers: {},
    body: null,
    answer: "json",
    answerShape: "Turn",
  },
  listTurnFailures: {
    method: "GET",
    path: "/projects/{project}/turns/{turn}/failures",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"failures":["TurnFailure"]}},
  },
  stopTurn: {
    method: "POST",
    path: "/projects/{project}/turns/{turn}/stop",
    query: {},
    headers: {},
    body: "application/json",
    answer: "json",
    answerShape: "StoppedTurn",
  },
  sendUiAction: {
    method: "POST",
    path: "/projects/{project}/ui-actions",
    query: {},
    headers: { idempotencyKey: "idempotency-key", traceparent: "traceparent" },
    body: "application/json",
    answer: "json",
    bodyShape: {"fields":["agent_id","tool_name","action_id","message_id","channel_id","wait_seconds"]},
    answerShape: {"fields":["agent_turn_id","agent_id","action_id","message_id","result_status","tool_result_card_id","error_code"]},
  },
  listStoreAudit: {
    method: "GET",
    path: "/store/audit",
    query: { limit: "limit", cursor: "cursor" },
    headers: {},
    body: null,
    answer: "json",
    answerShape: {"fields":["next_cursor"],"within":{"entries":["AuditEntry"]}},
  },
  verifyStore: {
    method: "GET",
    path: "/store/verify",
    query: { drained: "drained" },
    headers: {},
    body: null,
    answer: "json",
  },
} as const satisfies Record<keyof Operations, OperationSpec>;
