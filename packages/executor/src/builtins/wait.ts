// wait: lets time pass. Canceling the call ends the wait at once.

import type { Clock } from "@tessera/kernel/ports";
import { errorOf } from "@tessera/protocol";
import { defineTool, type RegisteredTool } from "@tessera/tool";

const SECONDS_MAX = 300;

export function waitTools(clock: Clock): readonly RegisteredTool[] {
  const seconds = defineTool({
    name: "wait__seconds",
    description: `Waits, at most ${SECONDS_MAX} seconds.`,
    errorMessageLimit: 600,
    timeoutMs: (SECONDS_MAX + 10) * 1_000,
    placement: "inline",
    effect: "read",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["seconds"],
      properties: { seconds: { type: "number", minimum: 0, maximum: SECONDS_MAX } },
    },
    handler: async (ctx, input) => {
      const waitedMs = Math.round(input.seconds * 1_000);
      await passed(clock, waitedMs, ctx.signal);
      return { waitedSeconds: input.seconds, waitedMs };
    },
  });
  return [seconds];
}

function passed(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onCancel = () => {
      timer.cancel();
      reject(errorOf("canceled", "the wait was ended: its call was canceled"));
    };
    const timer = clock.after(ms, () => {
      signal.removeEventListener("abort", onCancel);
      resolve();
    });
    if (signal.aborted) onCancel();
    else signal.addEventListener("abort", onCancel, { once: true });
  });
}
