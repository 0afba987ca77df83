// The `execute_tool` span around a run, in whichever process it happens (design §7).
//
//   T1. Its parent is the span that is active here, when it is of the call's trace (the turn runs in this process), else the
//       span whose id came with the call.
//   T2. Arguments and results are never attributes.

import { context, type SpanContext, SpanKind, SpanStatusCode, TraceFlags, trace } from "@opentelemetry/api";
import type { ToolResultContent } from "@tessera/protocol";
import type { ToolInvocation } from "@tessera/tool";

const SCOPE = "@tessera/executor";

export async function traceRun(
  invocation: ToolInvocation,
  run: () => Promise<ToolResultContent>,
): Promise<ToolResultContent> {
  const { trace_id, span_id, tool_name, tool_call_id, project_id, attempt } = invocation;
  const active = trace.getSpanContext(context.active());
  const stored: SpanContext = { traceId: trace_id, spanId: span_id, traceFlags: TraceFlags.SAMPLED, isRemote: true };
  const isHere = active !== undefined && active.traceId === trace_id;
  const parent = isHere ? context.active() : trace.setSpanContext(context.active(), stored); // T1
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
