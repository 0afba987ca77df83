// The parsers of the wire contract under hostile input: each answers with a value or a refusal, and what it accepts it can
// write and read again.

import * as protocol from "@tessera/protocol";
import fc from "fast-check";
import { expect } from "vitest";
import { damagedBytes, damagedText } from "./damaged-text.ts";
import { damagedJsonText, damagedValue } from "./damaged-values.ts";
import { ask, fuzzSuite } from "./fuzz-run.ts";
import { hostileJson, hostileText, hostileValue } from "./hostile-values.ts";

const fuzz = fuzzSuite("protocol");
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
const BYTES_MAX = 200_000;

const SUBJECTS = {
  tool: "cg.v1r4.p1.c1.cmd.tool.search.query",
  v1r3: "cg.v1r3.p1.c1.cmd.tool.search.query",
  pmo: "cg.v1r4.p1.c1.cmd.sys.pmo.internal.fork_join",
  step: "cg.v1r4.p1.c1.evt.agent.a1.step",
  wakeup: "cg.v1r4.p1.c1.cmd.agent.workers.wakeup",
};
const TEMPLATE = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.query";
const CONTEXT = {
  ...{ project_id: "p1", agent_id: "a1", channel_id: "c1", agent_turn_id: "turn_1", turn_epoch: 2, step_id: "step_1" },
  ...{ tool_call_id: "tc_1", parent_agent_id: "a0", parent_agent_turn_id: "turn_0", parent_step_id: "step_0" },
  ...{ recursion_depth: 3, trace_id: "c".repeat(32) },
};
const context = new protocol.CGContext(CONTEXT);
const ENVELOPE = { ticket: "secret", msg_type: "ToolCommandPayload" };
const traceparentOf = (ctx: protocol.CGContext) => protocol.traceparentOf(ctx.trace_id ?? "", ids.spanId());
const HEADERS = protocol.commandHeaders(context, { ...ENVELOPE, traceparent: traceparentOf(context) });
const COMMAND = { tool_call_card_id: "card_1", tool_name: "search", after_execution: "suspend" };
const V1R3_COMMAND = {
  ...COMMAND,
  tool_call_id: "tc_1",
  agent_turn_id: "turn_1",
  turn_epoch: 2,
  agent_id: "a1",
  step_id: "step_1",
};
const CALLBACK = { status: "success", after_execution: "suspend", tool_result_card_id: "card_2" };
const ERROR = {
  code: "bad_request",
  message: "no",
  source: "tool",
  detail: { a: [1] },
  retryable: false,
  http_status: 400,
};
const CONTENTS = {
  "task.instruction": { text: "hello" },
  "task.result_fields": { fields: [{ name: "a", description: "b" }] },
  "agent.error": { data: { code: "x" } },
  "tool.call": { tool_name: "search", arguments: { q: "x" }, status: "called", target_subject: SUBJECTS.tool },
  "tool.result": { status: "failed", after_execution: "suspend", result: { a: 1 }, error: ERROR },
};
const cardTypes = Object.keys(CONTENTS) as (keyof typeof CONTENTS)[];
const cardOf = (type: keyof typeof CONTENTS) => ({
  ...{ card_id: "card_1", project_id: "p1", type, content: CONTENTS[type], created_at: "2026-01-01T00:00:00.000Z" },
  ...{ author_id: "tool.search", metadata: { step_id: "step_1", role: "tool" }, tool_call_id: "tc_1", ttl_seconds: 60 },
});
const anySubject = fc.oneof(hostileText, ...Object.values(SUBJECTS).map((subject) => damagedText(subject)));
const anyHeaders = fc.oneof(
  damagedValue(HEADERS, { values: fc.oneof(hostileText, hostileJson) }),
  fc.dictionary(fc.constantFrom(...Object.keys(HEADERS)), hostileText),
) as fc.Arbitrary<Record<string, string>>;

fuzz.target("subjects are read, and what is read is written back the same", 1_500, anySubject, (subject) => {
  const verdict = ask(() => protocol.classifySubject(subject));
  expect(verdict.error).toBeUndefined();
  const parts = protocol.parseSubject(subject);
  if (parts !== null) expect(protocol.formatSubject(parts)).toBe(subject);
  expect(ask(() => protocol.subjectFamily(subject)).error).toBeUndefined();
  fuzz.note("subjects are read, and what is read is written back the same", parts === null ? "refused" : "read");
});

const parts = fc.record({
  project_id: fc.oneof(hostileText, fc.constant("p1")),
  channel_id: fc.oneof(hostileText, fc.constant("c1")),
  category: fc.constantFrom(...protocol.SUBJECT_CATEGORIES),
  component: fc.constantFrom(...protocol.SUBJECT_COMPONENTS),
  target: fc.oneof(hostileText, fc.constant("x")),
  suffix: fc.oneof(hostileText, fc.constant("run.now")),
});
fuzz.target("subjects that are built are those of their parts", 1_000, parts, (given) => {
  const { value } = ask(() => protocol.formatSubject(given)) as { value?: string };
  if (value !== undefined) expect(protocol.parseSubject(value)).toEqual({ version: "v1r4", ...given });
});

const templates = fc.tuple(fc.oneof(hostileText, damagedText(TEMPLATE)), fc.oneof(hostileText, fc.constant("p1")));
fuzz.target("target subjects never lead out of the grammar", 1_000, templates, ([template, project_id]) => {
  ask(() => protocol.parseTargetSubject(template, { project_id: "p1" }));
  const values = { project_id, channel_id: "c1", agent_id: "a1" };
  const rendered = ask(() => protocol.renderTargetSubject(template, values));
  if (rendered.error !== undefined) return;
  expect(protocol.parseSubject(rendered.value)?.category).toBe("cmd");
});

fuzz.target("headers are normalized once and for all", 1_000, anyHeaders, (headers) => {
  if (!protocol.isJsonObject(headers)) return;
  const normalized = ask(() => protocol.normalizeHeaders(headers));
  if (normalized.error !== undefined) return;
  expect(protocol.normalizeHeaders(normalized.value)).toEqual(normalized.value);
  for (const name of Object.values(protocol.HEADERS)) {
    ask(() => protocol.getHeader(headers, name));
    ask(() => protocol.getIntegerHeader(headers, name));
  }
});

const TRACEPARENT = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
fuzz.target("traces are read or begun anew", 1_500, fc.oneof(hostileText, damagedText(TRACEPARENT)), (text) => {
  const trace = protocol.parseTraceparent(text);
  if (trace !== null) expect(protocol.parseTraceparent(protocol.formatTraceparent(trace))).toEqual(trace);
  const resolved = ask(() => protocol.resolveTrace({ traceparent: text, trace_id: text }, ids));
  if (resolved.error === undefined) expect(protocol.isTraceparent(resolved.value.traceparent)).toBe(true);
  const bare = protocol.normalizeTraceId(text);
  if (bare !== null) expect(protocol.normalizeTraceId(bare)).toBe(bare);
});

const ingress = fc.tuple(anyHeaders, fc.oneof(hostileJson, damagedValue(COMMAND)), anySubject);
fuzz.target("ingress makes a context that it would make again", 1_000, ingress, ([headers, payload, subject]) => {
  for (const parsed of [protocol.parseSubject(subject), protocol.parseSubject(SUBJECTS.step)]) {
    const read = ask(() => protocol.buildNatsIngressContext(headers, payload, parsed, { ids }));
    fuzz.note("ingress makes a context that it would make again", read.error?.code ?? "accepted");
    if (read.error !== undefined) continue;
    for (const field of protocol.CONTROL_FIELDS) expect(Object.hasOwn(read.value.payload, field)).toBe(false);
    const { ctx } = read.value;
    const sent = protocol.commandHeaders(ctx, { ...ENVELOPE, traceparent: traceparentOf(ctx) });
    const again = protocol.buildNatsIngressContext(sent, read.value.payload, parsed, { ids });
    expect(again.ctx.toSysDict()).toEqual(read.value.ctx.toSysDict());
  }
});

const messages = fc.record({
  subject: fc.oneof(anySubject, fc.constantFrom(SUBJECTS.tool, SUBJECTS.v1r3, SUBJECTS.pmo)),
  headers: fc.oneof(anyHeaders, fc.constant(HEADERS)),
  data: fc.oneof(
    ...[COMMAND, V1R3_COMMAND].flatMap((payload) => [
      damagedBytes(JSON.stringify(payload)),
      damagedJsonText(payload).map((text) => new Uint8Array(Buffer.from(text))),
      fc.constant(new Uint8Array(Buffer.from(JSON.stringify(payload)))),
    ]),
  ),
});
fuzz.target("commands are taken whole or refused", 1_500, messages, (message) => {
  const read = ask(() => protocol.parseToolCommand(message, { ids }));
  fuzz.note("commands are taken whole or refused", read.error?.code ?? "accepted");
  if (read.error !== undefined) return;
  const { ctx, command, subject } = read.value;
  expect(ctx.project_id).toBe(subject.project_id);
  expect(protocol.isId(command.tool_call_card_id)).toBe(true);
  for (const name of protocol.SECRET_HEADERS) expect(ctx.headers).not.toHaveProperty(name);
});

const jsonTexts = fc.oneof(
  hostileText,
  damagedText(JSON.stringify(cardOf("tool.result"))),
  damagedJsonText(cardOf("tool.call")),
  fc.json({ maxDepth: 6 }),
  hostileJson.map((value) => JSON.stringify(value) ?? ""),
);
fuzz.target("JSON text is read as JSON.parse reads it, or refused", 1_500, jsonTexts, (text) => {
  const read = ask(() => protocol.parseJson(text, { bytesMax: BYTES_MAX }));
  fuzz.note("JSON text is read as JSON.parse reads it, or refused", read.error?.code ?? "accepted");
  const fromBytes = text.isWellFormed()
    ? ask(() => protocol.parseJson(Buffer.from(text), { bytesMax: BYTES_MAX }))
    : read;
  if (text.charCodeAt(0) !== 0xfeff) expect(fromBytes.error === undefined).toBe(read.error === undefined);
  if (read.error !== undefined) return;
  const written = JSON.stringify(read.value);
  expect(written).toBe(JSON.stringify(JSON.parse(text)));
  expect(JSON.stringify(protocol.gateJson(read.value))).toBe(written);
  expect(JSON.stringify(protocol.parseJson(written, { bytesMax: 2 * BYTES_MAX }))).toBe(written);
});

fuzz.target("bytes of a message are an object or refused", 1_000, damagedBytes(JSON.stringify(COMMAND)), (bytes) => {
  const read = ask(() => protocol.decodeJsonMessage(bytes));
  if (read.error === undefined) expect(protocol.isJsonObject(read.value)).toBe(true);
});

fuzz.target("any value leaves the gate as plain JSON, or not at all", 1_500, hostileValue, (value) => {
  const read = ask(() => protocol.gateJson(value));
  fuzz.note("any value leaves the gate as plain JSON, or not at all", read.error?.code ?? "accepted");
  if (read.error !== undefined) return;
  const written = JSON.stringify(read.value);
  expect(JSON.stringify(protocol.gateJson(read.value))).toBe(written);
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
});

for (const type of cardTypes) {
  fuzz.target(
    `a card of ${type} is right or refused`,
    300,
    damagedValue(cardOf(type), { values: hostileValue }),
    (card) => {
      const read = ask(() => protocol.validateCard(card));
      if (read.error === undefined) expect(protocol.validateCard(read.value)).toEqual(read.value);
    },
  );
  fuzz.target(
    `content of ${type} is right or refused`,
    300,
    damagedValue(CONTENTS[type], { values: hostileValue }),
    (content) => {
      const read = ask(() => protocol.validateCardContent(type, content));
      if (read.error === undefined) expect(protocol.validateCardContent(type, read.value)).toEqual(read.value);
    },
  );
}

fuzz.target("payloads of commands come back as they were read", 1_500, damagedValue(COMMAND), (payload) => {
  if (!protocol.isJsonObject(payload)) return;
  const read = ask(() => protocol.parseCommandPayload(payload));
  if (read.error !== undefined) return;
  expect(protocol.parseCommandPayload(protocol.buildCommandPayload(read.value.command)).command).toEqual(
    read.value.command,
  );
});

fuzz.target("payloads of callbacks come back as they were read", 1_500, damagedValue(CALLBACK), (payload) => {
  if (!protocol.isJsonObject(payload)) return;
  const read = ask(() => protocol.parseCallbackPayload(payload));
  if (read.error !== undefined || read.value.callback.after_execution === null) return;
  const built = protocol.buildCallbackPayload(read.value.callback as protocol.CallbackPayload);
  expect(protocol.parseCallbackPayload(built).callback).toEqual(read.value.callback);
});

fuzz.target(
  "identity in v1r3 payloads is lifted or refused",
  1_500,
  fc.tuple(anyHeaders, damagedValue(V1R3_COMMAND)),
  ([headers, payload]) => {
    if (!protocol.isJsonObject(payload)) return;
    const read = ask(() => protocol.liftPayloadIdentity(headers, payload));
    if (read.error === undefined)
      for (const field of ["agent_id", "turn_epoch"]) expect(field in read.value.payload).toBe(false);
  },
);

fuzz.target("contexts are restored or refused", 1_500, damagedValue(context.toSysDict()), (dict) => {
  if (!protocol.isJsonObject(dict)) return;
  const read = ask(() => new protocol.CGContext(dict as object as protocol.CGContextInput));
  if (read.error !== undefined) return;
  expect(new protocol.CGContext(read.value.toSysDict()).toSysDict()).toEqual(read.value.toSysDict());
});

const results = fc.record({
  status: fc.oneof(hostileValue, fc.constantFrom(...protocol.RESULT_STATUSES)),
  result: hostileValue,
  error: fc.oneof(hostileValue, damagedValue(ERROR, { values: hostileValue })),
  after_execution: fc.oneof(hostileValue, fc.constantFrom("suspend", "terminate")),
});
fuzz.target("whatever a tool answers becomes a result that is right", 1_000, results, (input) => {
  const built = ask(() => protocol.buildToolResultContent(input as unknown as protocol.ToolResultInput));
  expect(built.error).toBeUndefined();
  if (built.error === undefined)
    expect(ask(() => protocol.validateToolResultContent(built.value as never)).error).toBeUndefined();
});

fuzz.target(
  "whatever a tool throws becomes an error object",
  1_000,
  fc.oneof(hostileValue, damagedValue(ERROR, { values: hostileValue })),
  (thrown) => {
    const built = ask(() => protocol.buildErrorResultFromException(thrown));
    expect(built.error).toBeUndefined();
    if (built.error !== undefined) return;
    expect(built.value.error.message.length).toBeLessThanOrEqual(protocol.ERROR_MESSAGE_CHARS_MAX);
    expect(ask(() => protocol.gateJson(built.value)).error).toBeUndefined();
  },
);

fuzz.target("ids, depths and steering words", 1_000, hostileValue, (value) => {
  ask(() => protocol.parseRecursionDepth(value));
  ask(() => protocol.parseId(value as string, "x"));
  for (const is of [
    protocol.isActorId,
    protocol.isInstanceKey,
    protocol.isToolName,
    protocol.isCardType,
    protocol.isToken,
  ]) {
    expect(ask(() => is(value as string)).error).toBeUndefined();
  }
  const gated = ask(() => protocol.gateJson(value));
  if (gated.error === undefined) ask(() => protocol.stripCgControl(gated.value));
});
