// Messages of a real turn, as they went over the bus, with a damaged subject, header or payload: every reader answers with a
// value or a refusal, and a command that is damaged opens no call but its own.

import type { BusMessage } from "@tessera/kernel";
import {
  buildNatsIngressContext,
  classifySubject,
  decodeJsonMessage,
  getHeader,
  HEADERS,
  normalizeHeaders,
  parseSubject,
  parseToolCommand,
  SECRET_HEADERS,
} from "@tessera/protocol";
import { rolledBack } from "@tessera/testkit/rolled-back";
import fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import { Fixture } from "../../packages/kernel/test/fixture.ts";
import { damagedBytes, damagedText } from "./damaged-text.ts";
import { damagedJsonText, damagedValue } from "./damaged-values.ts";
import { ask, fuzzSuite } from "./fuzz-run.ts";
import { hostileText } from "./hostile-values.ts";
import { TappedDatabase } from "./kernel-traffic.ts";
import { changedTables, rowsDigest } from "./rows-digest.ts";

const READ_INPUTS = 2_500;
const OPEN_INPUTS = 150;

const fuzz = fuzzSuite("messages");
const fx = new Fixture();
const ids = { traceId: () => "a".repeat(32), spanId: () => "b".repeat(16) };
let traffic: readonly BusMessage[] = [];
let rows = "";

/** One of each kind: wakes, commands (also rung again, and of the older protocol), ends of turns. */
beforeAll(async () => {
  await fx.open();
  const v1r3 = { target_subject: "cg.v1r3.p1.public.cmd.tool.echo.run" };
  const done = await fx.suspended([{}, v1r3]);
  for (const n of [0, 1]) await fx.report(await fx.opened(done, n));
  await fx.finish(await fx.resumed(done.agent_id, done.worker_id));
  await fx.suspended([{}, v1r3]);
  await fx.later(6_000);
  traffic = [...fx.published];
  const kinds = new Set(traffic.map(({ headers }) => headers[HEADERS.msg_type]));
  expect([...kinds].sort()).toEqual(["AgentTaskPayload", "ToolCommandPayload", "WakeupPayload"]);
  rows = await rowsDigest(fx.store.database);
});
afterAll(async () => {
  await fx.close();
});

const textOf = ({ data }: BusMessage) => new TextDecoder().decode(data);

/** One of the three parts is damaged, or two. */
const damaged = (keep: (message: BusMessage) => boolean): fc.Arbitrary<BusMessage> =>
  fc.constant(null).chain(() =>
    fc.constantFrom(...traffic.filter(keep)).chain((message) => {
      const whole = <T>(value: T, broken: fc.Arbitrary<T>) =>
        fc.oneof({ weight: 1, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: broken });
      const headers = damagedValue(message.headers, { values: hostileText }).map((value) =>
        typeof value === "object" && value !== null ? (value as BusMessage["headers"]) : {},
      );
      const json = damagedJsonText(JSON.parse(textOf(message))).map((text) => new TextEncoder().encode(text));
      return fc.record({
        subject: whole(message.subject, damagedText(message.subject)),
        headers: whole(message.headers, headers),
        data: whole(message.data, fc.oneof(json, damagedBytes(textOf(message)))),
      });
    }),
  );

const READ = "messages of a turn are read or refused";
fuzz.target(
  READ,
  READ_INPUTS,
  damaged(() => true),
  (message) => {
    expect(ask(() => classifySubject(message.subject)).error).toBeUndefined();
    ask(() => normalizeHeaders(message.headers));
    const payload = ask(() => decodeJsonMessage(message.data));
    const subject = parseSubject(message.subject);
    if (payload.error === undefined) {
      const context = ask(() => buildNatsIngressContext(message.headers, payload.value, subject, { ids }));
      fuzz.note(READ, context.error?.code ?? "accepted");
    } else fuzz.note(READ, payload.error.code);
    const command = ask(() => parseToolCommand(message, { ids }));
    if (command.error !== undefined) return;
    expect(command.value.ctx.project_id).toBe(subject?.project_id);
    for (const name of SECRET_HEADERS) expect(command.value.ctx.headers).not.toHaveProperty(name);
  },
);

const OPEN = "a damaged command opens nothing, or the call that it was sent for";
const isCommand = ({ headers }: BusMessage) => headers[HEADERS.msg_type] === "ToolCommandPayload";
fuzz.target(OPEN, OPEN_INPUTS, damaged(isCommand), async (message) => {
  const read = ask(() => parseToolCommand(message, { ids }));
  if (read.error !== undefined) {
    fuzz.note(OPEN, read.error.code);
    return;
  }
  const { ctx, command } = read.value;
  const ticket = getHeader(message.headers, HEADERS.call_ticket) ?? "";
  const word = await rolledBack(fx.store.database, async (tx) => {
    const tap = new TappedDatabase(fx.store.database);
    tap.to = tx;
    const outcome = await fx.anotherKernel(tap).openCall({
      ...{ project_id: ctx.project_id, tool_call_id: ctx.tool_call_id ?? "", ticket, executor: "e1" },
      tool_call_card_id: command.tool_call_card_id,
    });
    if (outcome.outcome === "accepted") {
      // A request with the ticket of a call gets that call, whatever else the message says.
      const sentFor = traffic.find(({ headers }) => headers[HEADERS.call_ticket] === ticket);
      expect(outcome.tool_call_id).toBe(sentFor?.headers[HEADERS.tool_call_id]);
      return "accepted";
    }
    expect(changedTables(rows, await rowsDigest(tx))).toEqual([]);
    return outcome.code;
  });
  fuzz.note(OPEN, word);
});
