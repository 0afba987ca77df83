// A tool command as an executor or the PMO receives it: subject, headers and data checked in one place.
//
//   K1. Stricter than general ingress: a command must name its call, its turn and its depth, because its report is
//       addressed and bounded by them.
//   K2. The ticket is handed out beside the context, never inside it.
//   K3. Refused here means: do not run, do not redeliver. Only a valid ticket lets the refusal settle the call.

import { ProtocolViolation } from "../errors/errors.ts";
import { decodeJsonMessage } from "../json/json-gate.ts";
import { type CommandPayloadField, parseCommandPayload, type ToolCommandPayload } from "./command-payload.ts";
import type { CGContext } from "./context.ts";
import { getHeader, HEADERS, normalizeHeaders, requireHeader } from "./headers.ts";
import { buildNatsIngressContext } from "./ingress.ts";
import { requireDepthAllowed } from "./recursion-depth.ts";
import { classifySubject, type SubjectParts, subjectFamily } from "./subject.ts";
import type { TraceIds } from "./trace-context.ts";
import { liftPayloadIdentity } from "./v1r3.ts";

export interface ToolCommandMessage {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
}

export interface ToolCommand {
  readonly ctx: CGContext;
  readonly subject: SubjectParts;
  readonly command: ToolCommandPayload;
  /** Proof of the kernel, to be swapped for the attempt's capability; null when none was sent. Never log it. */
  readonly ticket: string | null;
  /** Unknown payload keys that were left out, for the log. */
  readonly dropped: readonly string[];
  readonly trace_restarted: boolean;
}

/** PMO tools get everything from the command; other tools may take name and after_execution from card and definition. */
const PMO_REQUIRED: readonly CommandPayloadField[] = ["tool_name", "after_execution"];

export function parseToolCommand(
  message: ToolCommandMessage,
  options: { readonly ids: TraceIds; readonly required?: readonly CommandPayloadField[] },
): ToolCommand {
  const subject = requireCommandSubject(message.subject);
  const isPmo = subject.component === "sys";
  const raw = decodeJsonMessage(message.data);
  const { headers, payload } =
    subject.version === "v1r3"
      ? liftPayloadIdentity(message.headers, raw)
      : { headers: normalizeHeaders(message.headers), payload: raw };
  const { command, dropped } = parseCommandPayload(payload, {
    required: options.required ?? (isPmo ? PMO_REQUIRED : []),
  });
  requireHeader(headers, HEADERS.tool_call_id);
  requireHeader(headers, HEADERS.agent_turn_id);
  requireHeader(headers, HEADERS.recursion_depth);
  if (isPmo) requireHeader(headers, HEADERS.step_id);
  const { ctx, trace_restarted } = buildNatsIngressContext(headers, payload, subject, { ids: options.ids });
  requireDepthAllowed(ctx.recursion_depth);
  return { ctx, subject, command, ticket: getHeader(headers, HEADERS.call_ticket), dropped, trace_restarted };
}

function requireCommandSubject(subject: string): SubjectParts {
  const verdict = classifySubject(subject);
  if (verdict.kind === "unsupported_version") {
    throw new ProtocolViolation(`protocol version ${verdict.version} is not supported`, {
      code: "unsupported_version",
      details: { version: verdict.version },
    });
  }
  const family = subjectFamily(subject);
  if (verdict.kind === "invalid_subject" || (family !== "tool_command" && family !== "pmo_command")) {
    throw new ProtocolViolation("the subject is not that of a tool command", { code: "invalid_subject" });
  }
  return verdict.parts;
}
