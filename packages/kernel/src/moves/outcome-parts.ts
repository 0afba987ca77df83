// What every outcome of the l0 functions is made of.

import type { ErrorCode, ReadonlyJson, ReadonlyJsonObject, ToolEffect } from "@tessera/protocol";

export interface Rejected {
  readonly outcome: "rejected";
  readonly code: ErrorCode;
}

export interface CardDraft {
  readonly card_id: string;
  readonly type: string;
  readonly content: ReadonlyJsonObject;
  readonly author_id?: string;
  readonly step_id?: string;
  readonly tool_calls?: ReadonlyJson;
  readonly metadata?: ReadonlyJsonObject;
}

export type Effect = ToolEffect;

export type WriteOutcome = Rejected | { readonly outcome: "accepted" | "duplicate" };
