// Every N row of docs/reference/security.md#n-the-bus: what a tool service answers to what the bus may bring. The row's number is
// in each title.
//
// Each refusal is compared with the whole store: only an audit row or a dead letter may be new.

import { startToolService } from "@tessera/executor";
import type { CommandService } from "@tessera/kernel";
import { HEADERS, parseToolCommand } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import type { ToolInvocation, ToolRunner } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changedTables, rowsDigest } from "../fuzz/rows-digest.ts";
import { CallWorld, type CommittedCall } from "./call-world.ts";

let world: CallWorld;
let service: CommandService;
const ran: ToolInvocation[] = [];
const runner: ToolRunner = {
  run: async (invocation) => {
    ran.push(invocation);
    return { status: "success", after_execution: "suspend", result: { said: invocation.arguments }, error: null };
  },
  close: async () => undefined,
};

beforeAll(async () => {
  world = await CallWorld.open();
  service = await startService();
});
afterAll(async () => {
  await service.stop();
  await world.close();
});

async function startService() {
  const { bus, kernel, clock, ids } = world;
  return await startToolService({
    bus,
    kernel,
    clock,
    ids,
    target: "quiet",
    executor: "service-1",
    runner,
    onWarning: (warning) => world.warnings.push(warning),
  });
}

// Commands go out on `shelf`, which no executor serves; a test sends them on to `quiet` as it likes.
const shelf = () => ({ target_subject: `cg.v1r4.${world.project}.public.cmd.tool.shelf.run`, author_id: "tool.shelf" });

interface Change {
  readonly subject?: string;
  readonly headers?: Record<string, string | null>;
  readonly data?: Uint8Array | string | object;
}

async function send(call: CommittedCall, change: Change = {}): Promise<void> {
  const headers: Record<string, string> = { ...call.command.headers };
  for (const [name, value] of Object.entries(change.headers ?? {})) {
    if (value === null) delete headers[name];
    else headers[name] = value;
  }
  const { data = call.command.data } = change;
  const bytes =
    data instanceof Uint8Array
      ? data
      : new TextEncoder().encode(typeof data === "string" ? data : JSON.stringify(data));
  const subject = change.subject ?? call.command.subject.replace(".shelf.", ".quiet.");
  await world.bus.publish([{ subject, headers, data: bytes }]);
}

const payloadOf = (call: CommittedCall) => JSON.parse(new TextDecoder().decode(call.command.data)) as object;
const counted = (code: string) => service.counts.get(code) ?? 0;

/** Sends and waits until the service has counted `code` once more. */
async function refusedAs(code: string, call: CommittedCall, change: Change): Promise<void> {
  const before = counted(code);
  await send(call, change);
  await waitFor(() => counted(code) === before + 1, { what: `${code}; counts are ${[...service.counts]}` });
}

async function deadLetters(): Promise<Record<string, unknown>[]> {
  return await world.store.database.query("select * from state.dead_letters order by dead_letter_id");
}

const tableOf = (part: string) => part.slice(0, part.indexOf("="));
const NO_TICKET = { [HEADERS.call_ticket]: null };

describe("a command that is none, without a ticket, is terminated, kept as a dead letter, and settles nothing", () => {
  const rows: [string, string, (call: CommittedCall) => Change][] = [
    ["N1 an empty payload", "invalid_json", () => ({ data: "" })],
    ["N2 a cut payload", "invalid_json", () => ({ data: '{"a":1' })],
    ["N2 trailing bytes", "invalid_json", (call) => ({ data: `${JSON.stringify(payloadOf(call))}x` })],
    ["N2 two values", "invalid_json", () => ({ data: "{}{}" })],
    ["N3 an array", "invalid_payload", () => ({ data: [] })],
    ["N3 a string", "invalid_payload", () => ({ data: '"x"' })],
    ["N3 a number", "invalid_payload", () => ({ data: "7" })],
    ["N3 null", "invalid_payload", () => ({ data: "null" })],
    ["N4 broken UTF-8", "invalid_encoding", () => ({ data: Uint8Array.of(0x22, 0xc3, 0x28, 0x22) })],
    ["N4 UTF-16 with its mark", "invalid_encoding", () => ({ data: Uint8Array.of(0xff, 0xfe, 0x7b, 0, 0x7d, 0) })],
    ["N5 no call id", "protocol_violation", () => ({ headers: { [HEADERS.tool_call_id]: null } })],
    [
      "N6 a header with two values",
      "protocol_violation",
      () => ({ headers: { [HEADERS.tool_call_id]: "tc_a\ntc_b" } }),
    ],
    ["N8 agent_id in the payload", "protocol_violation", (call) => ({ data: { ...payloadOf(call), agent_id: "a" } })],
    ["N8 turn_epoch in the payload", "protocol_violation", (call) => ({ data: { ...payloadOf(call), turn_epoch: 1 } })],
    ["N9 args", "protocol_violation", (call) => ({ data: { ...payloadOf(call), args: {} } })],
    ["N9 arguments", "protocol_violation", (call) => ({ data: { ...payloadOf(call), arguments: {} } })],
    ["N9 result", "protocol_violation", (call) => ({ data: { ...payloadOf(call), result: 1 } })],
    [
      "N12 an after_execution that is none",
      "bad_request",
      (call) => ({ data: { ...payloadOf(call), after_execution: "maybe" } }),
    ],
    ...["-1", "1.5", "1e3", "9007199254740993", "NaN"].map((epoch): [string, string, () => Change] => [
      `N13 the epoch ${epoch}`,
      "protocol_violation",
      () => ({ headers: { [HEADERS.turn_epoch]: epoch } }),
    ]),
    ["N14 no depth", "protocol_violation", () => ({ headers: { [HEADERS.recursion_depth]: null } })],
    ["N14 a negative depth", "protocol_violation", () => ({ headers: { [HEADERS.recursion_depth]: "-1" } })],
    ["N14 depth 20", "recursion_depth_exceeded", () => ({ headers: { [HEADERS.recursion_depth]: "20" } })],
    ["N14 depth 10^9", "recursion_depth_exceeded", () => ({ headers: { [HEADERS.recursion_depth]: "1000000000" } })],
    ["N23 no ticket", "auth_failed", () => ({})],
    ["N23 a forged ticket", "auth_failed", () => ({ headers: { [HEADERS.call_ticket]: "0".repeat(64) } })],
  ];
  it.each(rows)("%s: %s", async (_, code, change) => {
    const call = await world.commit(shelf());
    const letters = (await deadLetters()).length;
    const before = { rows: await rowsDigest(world.store.database), cpu: process.cpuUsage() };
    const asked = change(call);
    await refusedAs(code, call, { ...asked, headers: { ...NO_TICKET, ...asked.headers } });
    // Of CPU time: the machine may be busy with others.
    expect(process.cpuUsage(before.cpu).user / 1_000).toBeLessThan(1_000);
    await waitFor(async () => (await deadLetters()).length === letters + 1, { what: "a dead letter" });
    expect(changedTables(before.rows, await rowsDigest(world.store.database)).map(tableOf)).toEqual([
      "state.dead_letters",
    ]);
    const letter = (await deadLetters()).at(-1);
    expect(letter).toMatchObject({ reason: code });
    expect(JSON.stringify(letter).length).toBeLessThan(4_000);
    expect(JSON.stringify(letter)).not.toMatch(/\bat .*\.ts:\d|select |node_modules/);
    expect(JSON.stringify(letter)).not.toContain(call.command.headers[HEADERS.call_ticket]);
    expect(await world.call(call.tool_call_id)).toMatchObject({ wait_status: "waiting", attempt: 0 });
    expect(ran.some((run) => run.tool_call_id === call.tool_call_id)).toBe(false);
  });
});

describe("a broken command that shows its call's ticket", () => {
  it.each([
    ["N2 a cut payload", "invalid_json", '{"a":1'],
    ["N3 an array", "invalid_payload", "[]"],
    ["N9 inline arguments", "bad_request", '{"tool_call_card_id":"x","args":{}}'],
  ])("%s settles the call as failed, with what was wrong", async (_, code, data) => {
    const call = await world.commit(shelf());
    await send(call, { data });
    const result = await world.resultOf(call.tool_call_id);
    expect(result).toMatchObject({ status: "failed", error: { code } });
    expect(ran.some((run) => run.tool_call_id === call.tool_call_id)).toBe(false);
    await world.expectSafe();
  });
});

describe("a subject that is none", () => {
  const parse = (subject: string) => {
    try {
      parseToolCommand({ subject, headers: {}, data: new TextEncoder().encode("{}") }, { ids: world.ids });
      return "parsed";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it.each([
    "a.b.c",
    "cg.v1r4.p.public.cmd.tool.x",
    `cg.v1r4.p.public.cmd.tool.x${".y".repeat(6)}`,
    "cg.v1r4.p.public.cmd.tool.*.run",
    "cg.v1r4.p.public.cmd.tool.x.>",
    "cg.v1r4.p..cmd.tool.x.run",
    "cg.v1r4.p.public.cmd.tool.é.run",
    "cg.v1r4.p.pub lic.cmd.tool.x.run",
    "cg.v1r4.p.public.evt.agent.a.task",
  ])("N16 %s is invalid_subject", (subject) => expect(parse(subject)).toBe("invalid_subject"));

  it.each(["v0", "v999"])("N18 of version %s is unsupported_version", (version) =>
    expect(parse(`cg.${version}.p.public.cmd.tool.x.run`)).toBe("unsupported_version"),
  );
});

describe("a well-formed command", () => {
  it("N7 whose card is another call's is a protocol violation, and neither call is touched", async () => {
    const call = await world.commit(shelf());
    const other = await world.commit(shelf());
    const before = await rowsDigest(world.store.database);
    await refusedAs("protocol_violation", call, { data: payloadOf(other) });
    expect(changedTables(before, await rowsDigest(world.store.database)).map(tableOf)).not.toContain("state.calls");
    for (const each of [call, other]) {
      expect(await world.call(each.tool_call_id)).toMatchObject({ wait_status: "waiting", attempt: 0 });
    }
  });

  it("N10 whose card is unknown, of another project, or a result is card_not_found, the same for all three", async () => {
    const done = await world.commit(shelf());
    await send(done);
    const settled = await world.settled(done.tool_call_id);
    for (const card of ["card_none", String(settled.result_card_id)]) {
      const call = await world.commit(shelf());
      const before = await rowsDigest(world.store.database);
      await refusedAs("card_not_found", call, { data: { ...payloadOf(call), tool_call_card_id: card } });
      expect(changedTables(before, await rowsDigest(world.store.database)).map(tableOf)).not.toContain("state.calls");
      expect(await world.call(call.tool_call_id)).toMatchObject({ wait_status: "waiting", attempt: 0 });
    }
    const call = await world.commit(shelf());
    const foreign = { subject: "cg.v1r4.p_other.public.cmd.tool.quiet.run" };
    await refusedAs("card_not_found", call, {
      ...foreign,
      headers: { ...NO_TICKET, [HEADERS.project_id]: "p_other" },
    });
  });

  it("N12 with another after_execution than the stored one runs with the stored one, and is counted", async () => {
    const call = await world.commit(shelf());
    await send(call, { data: { ...payloadOf(call), after_execution: "terminate" } });
    await world.settled(call.tool_call_id);
    expect(ran.find((run) => run.tool_call_id === call.tool_call_id)?.after_execution).toBe("suspend");
    expect(counted("after_execution_mismatch")).toBe(1);
  });

  it.each([
    ["malformed", "nonsense"],
    ["all zero", `00-${"0".repeat(32)}-${"0".repeat(16)}-01`],
    ["10 kB long", "a".repeat(10_000)],
  ])("N15 with a %s traceparent runs in the stored trace, and is counted", async (_, traceparent) => {
    const call = await world.commit(shelf());
    const before = counted("trace_restarted");
    await send(call, { headers: { traceparent } });
    await world.settled(call.tool_call_id);
    expect(counted("trace_restarted")).toBe(before + 1);
    const { trace_id } = await world.call(call.tool_call_id);
    expect(ran.find((run) => run.tool_call_id === call.tool_call_id)?.trace_id).toBe(trace_id);
  });

  it("N17 in the subject of another project than its call's is tenant_mismatch", async () => {
    const call = await world.commit(shelf());
    const before = await rowsDigest(world.store.database);
    await refusedAs("tenant_mismatch", call, {
      subject: "cg.v1r4.p_other.public.cmd.tool.quiet.run",
      headers: { [HEADERS.project_id]: "p_other" },
    });
    expect(changedTables(before, await rowsDigest(world.store.database)).map(tableOf)).not.toContain("state.calls");
    expect(await world.call(call.tool_call_id)).toMatchObject({ wait_status: "waiting", attempt: 0 });
  });

  it("N19 that comes a thousand times at once runs once", async () => {
    const call = await world.commit(shelf());
    await Promise.all(Array.from({ length: 1_000 }, () => send(call)));
    await world.settled(call.tool_call_id);
    await waitFor(() => counted("already_claimed") + counted("already_settled") >= 999, { what: "999 refusals" });
    expect(ran.filter((run) => run.tool_call_id === call.tool_call_id)).toHaveLength(1);
  });

  it("N20 for a settled call is acked and does not run", async () => {
    const call = await world.commit(shelf());
    await send(call);
    await world.settled(call.tool_call_id);
    await refusedAs("already_settled", call, {});
    expect(ran.filter((run) => run.tool_call_id === call.tool_call_id)).toHaveLength(1);
  });

  it("that holds fields of a newer version runs without them, and they are counted", async () => {
    const call = await world.commit(shelf());
    await send(call, { data: { ...payloadOf(call), hint: "new", priority: 3 } });
    await world.settled(call.tool_call_id);
    expect(counted("dropped_fields")).toBe(1);
  });
});
