// What the API asks of the product besides the kernel: the server knows neither agents nor how their documents are read. The
// adapters are packages/runtime/src/api/port-adapters.ts. A route whose port is absent answers 501.

import type { OpenedCall, Row, ToolRecord, VerifyReport } from "@tessera/kernel";
import type { OrderTrace, ToolCallOrder, ToolDelegationPolicy, TurnOrder } from "@tessera/protocol";

/** Turns of agents, and what a tool may ask of other agents. */
export interface Agents {
  /** Throws a TesseraError: agent_not_found, backlog_full, conflict. */
  enqueue(
    order: TurnOrder,
  ): Promise<{ readonly agent_turn_id: string; readonly agent_id: string; readonly isNew: boolean }>;
  /** ctx.runtime of a call, for an executor that cannot have it as an object. */
  runtime(
    caller: RuntimeCallerOrder,
    operation: RuntimeOperation,
    request: RuntimeRequest,
    signal: AbortSignal,
  ): Promise<unknown>;
}

type CallIds = "project_id" | "channel_id" | "agent_id" | "agent_turn_id" | "step_id" | "tool_call_id" | "trace_id";

/** The call on whose behalf another agent is asked for something. */
export interface RuntimeCallerOrder extends Pick<OpenedCall, CallIds> {
  /** The code that asks is not the bundle's: it comes with an executor key. */
  readonly is_foreign: boolean;
  /** Of the key that asks; null: none. */
  readonly key_policy: ToolDelegationPolicy | null;
}

export const RUNTIME_OPERATIONS = ["request", "send", "spawn", "list", "catalog"] as const;
export type RuntimeOperation = (typeof RUNTIME_OPERATIONS)[number];

export interface RuntimeRequest {
  /** Names the operation among those of its call. */
  readonly ordinal: number;
  readonly target?: string;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** Uploaded tools. */
export interface ToolDocuments {
  /** The definitions of one uploaded document, in its order. Throws a TesseraError that names the line or field at fault. `onCost`
   *  is called with the milliseconds that reading it took, either way. */
  parse(
    bytes: Uint8Array,
    source: { readonly projectId: string; readonly file?: string | undefined; readonly onCost?: (ms: number) => void },
  ): ParsedToolDocument | Promise<ParsedToolDocument>;
  /** Names that belong to Tessera: no document can define or remove them. */
  isReservedName(toolName: string): boolean;
}

export interface ParsedToolDocument {
  readonly definitions: readonly Omit<ToolRecord, "project_id">[];
  /** Keys of the document that have no meaning here, for the uploader to see. */
  readonly ignored: readonly unknown[];
}

/** Uploaded profiles. */
export interface ProfileDocuments {
  /** Reads one uploaded document and makes it the profile of its name. Throws a TesseraError that names the line or field at fault. */
  deploy(
    bytes: Uint8Array,
    source: {
      readonly projectId: string;
      readonly file?: string | undefined;
      readonly expected?: ExpectedProfile | undefined;
      /** Called with the milliseconds that reading it took. */
      readonly onCost?: (ms: number) => void;
    },
  ): Promise<{ readonly name: string; readonly outcome: "new" | "changed" | "unchanged" }>;
}

/** Of `PUT …/profiles/{name}`: the name it must have, and the box that If-Match said it has now. */
export interface ExpectedProfile {
  readonly name: string;
  /** Absent: whatever it is. */
  readonly profile_box_id?: string | null | undefined;
}

/** A tool call asked for by a person or a program, as a turn of its own. */
export interface ToolCalls {
  request(
    order: ToolCallOrder,
  ): Promise<{ readonly agent_turn_id: string; readonly agent_id: string; readonly isNew: boolean }>;
  /** A call of an internal tool in an agent's name (God). It does not wait for that agent's own turns. */
  requestInternal(
    order: OrderTrace & {
      readonly project_id: string;
      readonly channel_id: string;
      readonly caller_agent_id: string;
      readonly tool_name: string;
      readonly arguments: unknown;
      readonly after_execution: "suspend" | "terminate";
    },
  ): Promise<{ readonly agent_turn_id: string }>;
}

/** Tool calls from a user interface, of agents of the UI worker. */
interface UiActions {
  /** Throws a TesseraError with the code of the acknowledgement when the action is refused, or its agent is busy. */
  request(order: UiActionOrder): Promise<{ readonly agent_turn_id: string; readonly isNew: boolean }>;
  /** The last acknowledgement of an action whose turn has ended. */
  ackOf(turn: Row): Promise<object>;
}

interface UiActionOrder extends OrderTrace {
  readonly project_id: string;
  readonly channel_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly action_id?: string;
  readonly message_id?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly idempotency_key?: string;
}

/** `ok` serves everything; `degraded` serves everything later (the broker is gone: the sweeper repeats the messages); `unready` serves nothing. */
export interface Health {
  /** The worst of its checks. */
  readonly status: "ok" | "degraded" | "unready";
  /** What was looked at, one by one. */
  readonly checks: readonly HealthCheck[];
}

/** One thing that was looked at, and what was found. */
export interface HealthCheck {
  readonly name: "store" | "bus" | "schema" | "work" | "workers" | "drain";
  readonly status: "ok" | "degraded" | "unready";
  /** One sentence without a secret. */
  readonly says: string;
}

export interface ServerPorts {
  readonly agents?: Agents;
  readonly profiles?: ProfileDocuments;
  readonly toolCalls?: ToolCalls;
  readonly uiActions?: UiActions;
  readonly health?: () => Promise<Health>;
  readonly verify?: (options: { readonly drained: boolean }) => Promise<VerifyReport>;
  /** God routes answer 404 without it. */
  readonly isGodEnabled?: boolean;
  /** Of the product: in the OpenAPI document, and in the health that a key may read. */
  readonly version?: string;
}
