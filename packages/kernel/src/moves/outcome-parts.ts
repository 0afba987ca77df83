// What every outcome of the l0 functions is made of.

import type { ErrorCode, ToolEffect } from "@tessera/protocol";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type JsonObject = { readonly [key: string]: Json | undefined };

export interface Rejected {
  readonly outcome: "rejected";
  readonly code: ErrorCode;
}

export interface CardDraft {
  readonly card_id: string;
  readonly type: string;
  readonly content: JsonObject;
  readonly author_id?: string;
  readonly step_id?: string;
  readonly tool_calls?: Json;
  readonly metadata?: JsonObject;
}

export type Effect = ToolEffect;

export type WriteOutcome = Rejected | { readonly outcome: "accepted" | "duplicate" };
