// What the management routes need besides the kernel, as ports that runtime wires: server knows neither agents nor tools.

import type { Row, VerifyReport } from "@tessera/kernel";
import type { InboundTrace } from "./http/inbound-trace.ts";

/** Uploaded profiles. Runtime wires it to the reader and the deployer of @tessera/agent. */
export interface ProfileDocuments {
  /** Reads one uploaded document and makes it the profile of its name. Throws a TesseraError that names the line or field at fault. */
  deploy(
    bytes: Uint8Array,
    source: {
      readonly projectId: string;
      readonly file?: string;
      readonly expected?: ExpectedProfile;
      /** Told the milliseconds that reading it took. */
      readonly onCost?: (ms: number) => void;
    },
  ): Promise<{ readonly name: string; readonly outcome: "new" | "changed" | "unchanged" }>;
}

/** Of `PUT …/profiles/{name}`: the name it must have, and the box that If-Match said it has now. */
export interface ExpectedProfile {
  readonly name: string;
  /** Absent: whatever it is. */
  readonly profile_box_id?: string | null;
}

/** A tool call asked for by a person or a program, as a turn of its own. */
export interface ToolCalls {
  request(
    order: InboundTrace & {
      readonly project_id: string;
      readonly tool_name: string;
      readonly arguments: unknown;
      readonly channel_id?: string;
      readonly agent_id?: string;
      readonly idempotency_key?: string;
    },
  ): Promise<{ readonly agent_turn_id: string; readonly agent_id: string; readonly isNew: boolean }>;
  /** A call of an internal tool in an agent's name (God). It does not wait for that agent's own turns. */
  requestInternal(
    order: InboundTrace & {
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
export interface UiActions {
  /** Throws a TesseraError with the code of the acknowledgement when the action is refused, or its agent is busy. */
  request(order: UiActionOrder): Promise<{ readonly agent_turn_id: string; readonly isNew: boolean }>;
  /** The last acknowledgement of an action whose turn has ended. */
  ackOf(turn: Row): Promise<object>;
}

export interface UiActionOrder extends InboundTrace {
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

/** `ok` serves everything; `degraded` serves everything later (the broker is gone: the sweeper rings); `unready` serves nothing. */
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

export interface ProductPorts {
  readonly profiles?: ProfileDocuments;
  readonly toolCalls?: ToolCalls;
  readonly uiActions?: UiActions;
  readonly health?: () => Promise<Health>;
  readonly verify?: (options: { readonly drained: boolean }) => Promise<VerifyReport>;
  /** God routes answer 404 without it. */
  readonly isGodEnabled?: boolean;
  /** Told to whoever asks: `GET /health` of a key's holder, the OpenAPI document. */
  readonly version?: string;
}
