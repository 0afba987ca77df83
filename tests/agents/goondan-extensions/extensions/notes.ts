// An extension in Goondan's manner: types and functions of `@goondan/types`, every kind of message event, most of them not
// awaited, state, a tool, events, and what the layers' contexts hold.

import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { CoreMessage, JsonValue, Message, MessageEvent, ToolContext } from "@goondan/types";
import { createConversationState, isJsonValue } from "@goondan/types";

interface Config {
  keep?: number;
  greeting?: string;
}

function message(id: string, role: CoreMessage["role"], content: string): Message {
  return {
    id,
    data: { role, content },
    metadata: { "notes.id": id },
    createdAt: new Date(),
    source: { type: "extension", extensionName: "notes" },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: Goondan's extensions bring types of their own; what they rely on is tested here.
export function register(api: any, config: Config = {}): void {
  const keep = config.keep ?? 1;

  api.tools.register(
    {
      name: "notes__count",
      description: "Says how many notes were taken.",
      parameters: { type: "object", properties: {} },
      source: { type: "extension", name: "notes" },
    },
    async (ctx: ToolContext) => ({
      agent: ctx.agentName,
      notes: ((await api.state.get()) as JsonValue[] | null) ?? [],
    }),
  );
  api.tools.register(
    { name: "notes__wait", description: "Waits for a file.", effect: "read" },
    async (ctx: ToolContext) => {
      writeFileSync(process.env.NOTES_BEGUN ?? "", `${ctx.attempt}\n`, { flag: "a" });
      while (!existsSync(process.env.NOTES_GO ?? "")) await pause(10);
      return "waited";
    },
  );

  // biome-ignore lint/suspicious/noExplicitAny: as above
  api.pipeline.register("turn", async (ctx: any) => {
    const { nextMessages, baseMessages, events } = ctx.conversationState;
    const state = createConversationState(baseMessages, events);
    api.events.emit("notes.turn", ctx.inputEvent.input, {
      folded: state.nextMessages.length === nextMessages.length,
      json: isJsonValue(ctx.conversationState.toLlmMessages()),
      swarm: ctx.runtime.swarm,
      prompt: ctx.runtime.agent.prompt.system,
      inbound: ctx.runtime.inbound.sourceKind,
      greeting: config.greeting,
    });
    const emit = (event: MessageEvent): void => ctx.emitMessageEvent(event);
    const mine = nextMessages.filter((each: Message) => each.metadata["notes.id"] !== undefined);
    for (const old of mine.slice(0, Math.max(0, mine.length - keep))) emit({ type: "remove", targetId: old.id });
    emit({
      type: "append",
      message: message(`note-${nextMessages.length}`, "system", `note: ${ctx.inputEvent.input}`),
    });
    const [first] = nextMessages.filter((each: Message) => each.source.type === "user");
    if (ctx.inputEvent.input === "shout") {
      emit({ type: "replace", targetId: first.id, message: message("shouted", "user", "SHOUT") });
    }
    if (ctx.inputEvent.input === "forget") {
      emit({ type: "truncate" });
      emit({ type: "append", message: message("fresh", "user", "start afresh") });
    }
    emit({ type: "remove", targetId: "never-was" });
    const result = await ctx.next();
    emit({
      type: "append",
      message: message(`after-${nextMessages.length}`, "system", `ended: ${result.finishReason}`),
    });
    return result;
  });

  // biome-ignore lint/suspicious/noExplicitAny: as above
  api.pipeline.register("step", async (ctx: any) => {
    const result = await ctx.next();
    const notes = ((await api.state.get()) as JsonValue[] | null) ?? [];
    await api.state.set([...notes, `${ctx.turn.agentName} ${ctx.stepIndex} ${result.toolResults.length}`]);
    return result;
  });
}
