// context-message: tells the model where it is: its swarm, what arrived, who called it.
//
//   C1. The same context is given once in a conversation, however many turns it has.
//   C2. The system prompt is sent to the model in any case, so `includeAgentPrompt` repeats nothing; it is taken so that a bundle
//       written for Goondan loads.

import { createHash } from "node:crypto";
import type { ExtensionApi, RuntimeInfo } from "../api.ts";
import { text, yesOrNo } from "./config.ts";

interface ContextConfig extends Readonly<Record<string, boolean | string>> {
  readonly includeAgentPrompt: boolean;
  readonly includeSwarmCatalog: boolean;
  readonly includeInboundContext: boolean;
  readonly includeCallContext: boolean;
  readonly includeRouteSummary: boolean;
  readonly swarmCatalogInstruction: string;
}

const HASH = "context-message.hash";
const CATALOG_INSTRUCTION =
  "callableAgents are those that agents__request and agents__send reach; agents__catalog has them as they are now.";

export const contextMessage = {
  name: "context-message",
  fields: {
    includeAgentPrompt: yesOrNo(true), // C2
    includeSwarmCatalog: yesOrNo(false),
    includeInboundContext: yesOrNo(false),
    includeCallContext: yesOrNo(false),
    includeRouteSummary: yesOrNo(false),
    swarmCatalogInstruction: text(CATALOG_INSTRUCTION),
  },
  register(api: ExtensionApi, config: ContextConfig): void {
    api.pipeline.register("turn", async (ctx) => {
      const content = segments(ctx.runtime, config).join("\n\n");
      const hash = createHash("sha256").update(content).digest("hex");
      const isTold = ctx.conversationState.nextMessages.some(({ metadata }) => metadata[HASH] === hash); // C1
      if (content !== "" && !isTold) {
        const message = { data: { role: "system" as const, content }, metadata: { [HASH]: hash } };
        await ctx.emitMessageEvent({ type: "append", message });
      }
      return await ctx.next();
    });
  },
};

function segments({ swarm, inbound, call }: RuntimeInfo, config: ContextConfig): string[] {
  const found: string[] = [];
  if (config.includeSwarmCatalog) {
    const { swarmName, entryAgent, selfAgent, availableAgents, callableAgents } = swarm;
    const lists = { availableAgents: availableAgents.join(", "), callableAgents: callableAgents.join(", ") };
    const catalog = block("runtime_catalog", { swarm: swarmName, entryAgent, selfAgent, ...lists });
    found.push(config.swarmCatalogInstruction === "" ? catalog : `${catalog}\n${config.swarmCatalogInstruction}`);
  }
  if (config.includeInboundContext) {
    const { eventMetadata, ...event } = inbound;
    const metadata = eventMetadata === undefined ? {} : { eventMetadata: JSON.stringify(eventMetadata) };
    found.push(block("runtime_inbound", { ...event, ...metadata }));
  }
  if (config.includeCallContext && call !== undefined) {
    const { callStack, replyTo, ...caller } = call;
    const reply = replyTo === undefined ? {} : { replyTo: `${replyTo.target} (${replyTo.correlationId})` };
    found.push(block("runtime_call", { ...caller, callStack: callStack.join(" -> "), ...reply }));
  }
  if (config.includeRouteSummary && (config.includeInboundContext || config.includeCallContext)) {
    const sender =
      call === undefined
        ? { senderKind: inbound.sourceKind, senderName: inbound.sourceName }
        : { senderKind: "agent", senderName: call.callerAgent, senderInstanceKey: call.callerInstanceKey };
    found.push(block("runtime_route", { ...sender, eventType: inbound.eventType, eventId: inbound.eventId }));
  }
  return found;
}

function block(name: string, lines: Readonly<Record<string, string>>): string {
  return [`[${name}]`, ...Object.entries(lines).map(([key, value]) => `${key}=${value}`), `[/${name}]`].join("\n");
}
