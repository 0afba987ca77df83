// The low-level way to build a result, under the names that CommonGround published: a context from the command, a builder, a
// callback payload and a card.
//
//   B1. Lineage (trace_id, step_id, parent_step_id) is copied verbatim from the tool.call card's metadata, never from the
//       payload; what the card lacks in trace is taken from the context.
//   B2. A card's id follows from its call and content: saving the same result again after a lost answer is the same card, and
//       another attempt's result is another one.
//   B3. build() never throws for what a tool returned: `buildToolResultContent` coerces towards failure.

import { createHash } from "node:crypto";
import {
  type AfterExecution,
  buildCallbackPayload,
  buildToolResultContent,
  type Card,
  type CGContext,
  isAfterExecution,
  type JsonObject,
  type JsonValue,
  type ToolResultContent,
} from "@tessera/protocol";

/** A `tool.result` card that was not saved yet: the store decides when it was made. */
export type ToolResultCard = Omit<Card, "created_at" | "content"> & {
  readonly type: "tool.result";
  /** The result, or the error, as the model and the turn are given it. */
  readonly content: ToolResultContent;
  readonly tool_call_id: string;
};

/** What a result takes over from its command. */
export class ToolResultContext {
  /** The context of the command. */
  readonly ctx: CGContext;
  /** What the command said becomes of the turn after the call. */
  readonly commandAfterExecution: AfterExecution | null;
  /** Trace and steps, as the call's card has them. */
  readonly lineage: Readonly<Record<string, JsonValue>>;

  private constructor(
    ctx: CGContext,
    commandAfterExecution: AfterExecution | null,
    lineage: Record<string, JsonValue>,
  ) {
    this.ctx = ctx;
    this.commandAfterExecution = commandAfterExecution;
    this.lineage = lineage;
  }

  /** From a command's context and payload, and the metadata of the call's card. */
  static fromCmdData(options: {
    readonly ctx: CGContext;
    readonly cmdData: Readonly<JsonObject>;
    /** Metadata of the tool.call card. */
    readonly toolCallMeta: Readonly<Record<string, unknown>>;
  }): ToolResultContext {
    const { ctx, cmdData, toolCallMeta } = options;
    const lineage: Record<string, JsonValue> = {};
    for (const key of ["trace_id", "step_id", "parent_step_id"]) {
      const value = toolCallMeta[key];
      if (typeof value === "string" && value !== "") lineage[key] = value;
    }
    if (lineage.trace_id === undefined && ctx.trace_id !== null) lineage.trace_id = ctx.trace_id; // B1
    const after = cmdData.after_execution;
    return new ToolResultContext(ctx, isAfterExecution(after) ? after : null, lineage);
  }
}

/** Builds the card of a result and the payload that reports it. */
export class ToolResultBuilder {
  readonly #ctx: ToolResultContext;
  readonly #authorId: string;
  readonly #functionName: string;
  readonly #cardId: string | undefined;

  constructor(
    ctx: ToolResultContext,
    options: { readonly authorId: string; readonly functionName: string; readonly cardId?: string },
  ) {
    this.#ctx = ctx;
    this.#authorId = options.authorId;
    this.#functionName = options.functionName;
    this.#cardId = options.cardId;
  }

  /** Never throws for what a tool returned: what cannot be stored becomes a failure that says so. */
  build(input: {
    readonly status?: unknown;
    readonly result?: unknown;
    readonly error?: unknown;
    readonly afterExecution?: unknown;
  }): { readonly payload: JsonObject; readonly resultCard: ToolResultCard } {
    const { ctx, lineage, commandAfterExecution } = this.#ctx;
    const content = buildToolResultContent({
      status: input.status,
      result: input.result,
      error: input.error,
      after_execution: input.afterExecution,
      command_after_execution: commandAfterExecution,
    });
    const tool_call_id = ctx.requireToolCallId();
    const card_id = this.#cardId ?? cardIdOf(tool_call_id, content);
    return {
      payload: buildCallbackPayload({
        after_execution: content.after_execution,
        status: content.status,
        tool_result_card_id: card_id,
      }),
      resultCard: {
        card_id,
        project_id: ctx.project_id,
        type: "tool.result",
        content,
        author_id: this.#authorId,
        tool_call_id,
        metadata: {
          agent_turn_id: ctx.agent_turn_id,
          tool_call_id,
          role: "tool",
          function_name: this.#functionName,
          ...lineage,
        },
      },
    };
  }
}

/** B2 */
function cardIdOf(toolCallId: string, content: ToolResultContent): string {
  const digest = createHash("sha256")
    .update(`${toolCallId}\n${JSON.stringify(content)}`)
    .digest("hex");
  return `card_${digest.slice(0, 32)}`;
}
