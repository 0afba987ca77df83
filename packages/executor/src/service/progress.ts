// A tool's progress, as chunks of its agent's stream: lossy, bounded, never part of a result.

import type { Bus, Clock, OpenedCall } from "@tessera/kernel";
import { buildChunkPayload, formatSubject, gateJson, type JsonObject, type JsonValue } from "@tessera/protocol";
import type { ToolProgress } from "@tessera/tool";

/** More often than this a person could not read it. */
const PROGRESS_INTERVAL_MS = 100;
const MESSAGE_CHARS_MAX = 1_000;
const DATA_BYTES_MAX = 8 * 1_024;
const encoder = new TextEncoder();

export function progressPublisher({ bus, clock }: { readonly bus: Bus; readonly clock: Clock }) {
  return (call: OpenedCall): ((update: ToolProgress) => void) => {
    let sentAtMs = Number.NEGATIVE_INFINITY;
    let index = 0;
    const subject = formatSubject({
      project_id: call.project_id,
      channel_id: call.channel_id,
      category: "str",
      component: "agent",
      target: call.agent_id,
      suffix: "chunk",
    });
    return (update) => {
      if (clock.monotonicMs() - sentAtMs < PROGRESS_INTERVAL_MS) return;
      sentAtMs = clock.monotonicMs();
      index += 1;
      const payload = buildChunkPayload({
        agent_turn_id: call.agent_turn_id,
        step_id: call.step_id,
        chunk_type: "tool_call",
        content: String(update.message ?? "").slice(0, MESSAGE_CHARS_MAX),
        index,
        metadata: describe(call, update),
      });
      const data = encoder.encode(JSON.stringify(payload));
      void bus.publish([{ subject, headers: {}, data }]).catch(() => undefined); // lossy by design
    };
  };
}

function describe(call: OpenedCall, update: ToolProgress): JsonObject {
  const hasFraction = typeof update.fraction === "number" && Number.isFinite(update.fraction);
  const data = smallJson(update.data);
  return {
    tool_call_id: call.tool_call_id,
    tool_name: call.tool_name,
    ...(hasFraction ? { fraction: update.fraction as number } : {}),
    ...(data === undefined ? {} : { data }),
  };
}

/** A tool may hand over anything; what is not small JSON is left out. */
function smallJson(data: unknown): JsonValue | undefined {
  if (data === undefined) return undefined;
  try {
    return gateJson(data, { bytesMax: DATA_BYTES_MAX });
  } catch {
    return undefined;
  }
}
