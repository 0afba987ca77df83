// What all layers of one local call may take together (W5): its call is committed when they begin, and has a deadline.

import { CALL_DEADLINE_MARGIN_MS } from "@tessera/protocol";
import { VirtualClock } from "@tessera/testkit";
import type { LocalCallOrder } from "@tessera/tool/run";
import { expect, it } from "vitest";
import type { TurnSession } from "../loop/turn-session.ts";
import type { ToolCallContext } from "./api.ts";
import type { Layer } from "./layers.ts";
import { type Wrapping, wrapToolCall } from "./wrap.ts";

const MS_MAX = CALL_DEADLINE_MARGIN_MS / 2;
const order = {
  ...{ tool_call_id: "tc_1", tool_name: "pay", arguments: {}, effect: "once", after_execution: "suspend" },
  ...{ attempt: 1, mode: "run" },
} as unknown as LocalCallOrder;

async function called(layers: number, msOfEach: number) {
  const clock = new VirtualClock();
  let runs = 0;
  const slow = async ({ next }: ToolCallContext) => {
    await clock.advance(msOfEach);
    return next();
  };
  const layer = { extension: "guard", type: "toolCall", priority: 0, onError: "fail", timeoutMs: MS_MAX, run: slow };
  const session = {
    ...{ cards: [], offered: [], agentName: "a", instanceKey: "i", turn: { agent_turn_id: "turn_1", trace_id: "t" } },
    ...{ worker: { clock }, signal: new AbortController().signal },
  } as unknown as TurnSession;
  const wrapping = {
    layers: Array.from({ length: layers }, () => layer as Layer),
    ...{ onFault: () => undefined, foreignOf: (name: string) => ({ name, onStray: () => undefined }) },
  } as unknown as Wrapping;
  const result = await wrapToolCall(wrapping, {
    ...{ session, order, definition: null, onFailure: () => undefined },
    run: async () => {
      runs += 1;
      return { status: "success", result: 1, error: null, after_execution: "suspend" };
    },
  });
  return { result, runs };
}

it("layers that take too long together keep the tool from being started, though each is in time", async () => {
  expect(await called(3, MS_MAX / 3)).toMatchObject({ runs: 1, result: { status: "success" } });
  expect(await called(3, MS_MAX / 3 + 1)).toMatchObject({
    runs: 0,
    result: { status: "failed", error: { code: "extension_failed", message: expect.stringContaining("too long") } },
  });
});
