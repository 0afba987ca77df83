// The `execute_tool` span around a run, in whichever process it happens (docs/design.md#public-surface).
//
//   T1. Its parent is the span whose id came with the call, in this process or another: what happens to be active where a
//       command is heard may be another turn's.
//   T2. Arguments and results are never attributes.
//   T3. Every run beyond the first is counted, whatever asked for it again.

import {
  type Context,
  context,
  isSpanContextValid,
  metrics,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import type { ToolResultContent } from "@tessera/protocol";
import type { ToolInvocation } from "@tessera/tool";

const SCOPE = "@tessera/executor";

export async function traceRun(
  invocation: ToolInvocation,
  run: () => Promise<ToolResultContent>,
): Promise<ToolResultContent> {
  const { tool_name, tool_call_id, project_id, attempt } = invocation;
  const parent = parentOf(invocation);
  if (attempt > 1) {
    metrics.getMeter(SCOPE).createCounter("tessera.tool_retries").add(1, { "gen_ai.tool.name": tool_name }); // T3
  }
  const attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": tool_name,
    "gen_ai.tool.call.id": tool_call_id,
    "cg.project_id": project_id,
    "cg.attempt": attempt,
  };
  const span = trace
    .getTracer(SCOPE)
    .startSpan(`execute_tool ${tool_name}`, { kind: SpanKind.INTERNAL, attributes }, parent);
  try {
    const content = await context.with(trace.setSpan(parent, span), run);
    span.setAttribute("cg.status", content.status);
    if (content.error !== null) {
      span.setAttribute("error.type", content.error.code);
      span.setStatus({ code: SpanStatusCode.ERROR, message: content.error.code });
    }
    return content;
  } finally {
    span.end();
  }
}

/** T1. An executor behind HTTP may have been given none. */
function parentOf({ trace_id, span_id }: ToolInvocation): Context {
  const stored: SpanContext = { traceId: trace_id, spanId: span_id, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  return isSpanContextValid(stored) ? trace.setSpanContext(context.active(), stored) : context.active();
}
