// The seed's tool handler on Tessera's low-level API: parse, read the card, work, build, save, report. A handler written
// for CommonGround keeps this shape; claiming, renewing and fencing happen behind `cardbox`.

import {
  buildNatsIngressContext,
  type CardBox,
  type Delivery,
  type Ids,
  parseSubject,
  publishToolResultReport,
  ToolResultBuilder,
  ToolResultContext,
} from "@tessera/tessera/wire";

export interface HandlerResources {
  readonly cardbox: CardBox;
  readonly ids: Ids;
  readonly doSomething: (args: Readonly<Record<string, unknown>>) => unknown;
}

export async function handleToolCommand(msg: Delivery, { cardbox, ids, doSomething }: HandlerResources) {
  const raw = JSON.parse(new TextDecoder().decode(msg.data));
  const parts = parseSubject(msg.subject);
  if (parts === null) throw new Error("invalid subject");

  const { ctx: ingressCtx, payload: cmdData } = buildNatsIngressContext(msg.headers, raw, parts, { ids });
  const toolCallCardId = String(cmdData.tool_call_card_id);

  const [toolCallCard] = await cardbox.getCards([toolCallCardId], { projectId: ingressCtx.project_id });
  if (toolCallCard === undefined) throw new Error(`tool_call_card not found: ${toolCallCardId}`);

  let status = "success";
  let result: unknown;
  try {
    result = await doSomething(toolCallCard.content.arguments);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    result = {
      error_code: "internal_error",
      error_message: message,
      error: { code: "internal_error", message },
    };
    status = "failed";
  }

  const ctx = ToolResultContext.fromCmdData({ ctx: ingressCtx, cmdData, toolCallMeta: toolCallCard.metadata });
  const { payload, resultCard } = new ToolResultBuilder(ctx, {
    authorId: "tool.example",
    functionName: String(cmdData.tool_name ?? "unknown"),
  }).build({ status, result });
  await cardbox.saveCard(resultCard);

  const sourceCtx = ingressCtx.evolve({
    agent_id: "tool.example",
    agent_turn_id: "",
    step_id: null,
    tool_call_id: null,
  });
  await publishToolResultReport({ cardbox, sourceCtx, targetCtx: ingressCtx, payload, ids });
  return {
    tool_call_id: ingressCtx.requireToolCallId(),
    agent_turn_id: ingressCtx.requireAgentTurnId(),
    turn_epoch: ingressCtx.turn_epoch,
    status,
  };
}
