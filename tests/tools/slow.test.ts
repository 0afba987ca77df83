// Tools that take their time, and what may happen meanwhile: a lease that would run out, commands that come again, a turn
// that is stopped, an executor that goes away in good order, a store that cannot be reached.

import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startToolService } from "@tessera/executor";
import { TOOL_PLACEMENTS, type ToolPlacement } from "@tessera/protocol";
import { awaitToolCall } from "@tessera/runtime";
import { waitFor, wholeLines } from "@tessera/testkit";
import { defineTool } from "@tessera/tool";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CallWorld } from "./call-world.ts";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

/** The API lets an executor renew twice a second, and 20 times at once: longer than this, or a third would be too often. */
const LEASE_MS = 1_000;
const SLOW_MS = 10 * LEASE_MS;

const RESOURCE = (placement: ToolPlacement, target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: slow }
spec:
  entry: ./slow.ts
  placement: ${placement}
${placement === "service" || placement === "edge" ? `  target: ${target}` : ""}
  exports:
    - { name: sleep, effect: idempotent }
    - { name: wait, effect: idempotent }
    - { name: shaky, effect: idempotent, retry: { max_attempts: 3, backoff: 100 } }
    - { name: broken, effect: idempotent, retry: { max_attempts: 3, backoff: 20 } }
`;

/** Each handler writes what happens to it into the ledger that its argument names. */
const MODULE = `
import { appendFileSync, existsSync } from "node:fs";
import { ToolError, type ToolContext, type ToolHandler } from "@tessera/tool";

const note = (ctx: ToolContext, input: Record<string, unknown>, what: string) =>
  appendFileSync(String(input.ledger), JSON.stringify({ what, attempt: ctx.attempt, key: ctx.idempotencyKey, at: Date.now() }) + "\\n");
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const handlers: Record<string, ToolHandler> = {
  async sleep(ctx, input) {
    note(ctx, input, "started");
    for (let ms = 0; ms < Number(input.ms) && !existsSync(String(input.until)); ms += 20) await pause(20);
    return { attempt: ctx.attempt };
  },
  async wait(ctx, input) {
    note(ctx, input, "started");
    await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
    note(ctx, input, "aborted");
    return { late: true };
  },
  shaky(ctx, input) {
    note(ctx, input, "started");
    if (ctx.attempt < 3) throw new ToolError("not yet", { code: "E_NOT_YET", retryable: true });
    return { attempt: ctx.attempt };
  },
  broken(ctx, input) {
    note(ctx, input, "started");
    throw new ToolError("never", { retryable: true });
  },
};
`;

interface Note {
  readonly what: string;
  readonly attempt: number;
  readonly key: string;
  readonly at: number;
}

describe.each(["pglite", "postgres"] as const)("on %s", (engine) => {
  let world: ToolWorld;
  const placed = new Map<ToolPlacement, HostedProject & { readonly target: string }>();
  let ledgers = 0;

  beforeAll(async () => {
    world = await ToolWorld.open(engine);
    await world.api(LEASE_MS); // its leases are as short as those of the service
    for (const placement of TOOL_PLACEMENTS) placed.set(placement, await start(placement));
  });
  afterAll(() => world.close());

  async function start(placement: ToolPlacement) {
    const project = world.newProject();
    const target = `slow_${createHash("sha256").update(project).digest("hex").slice(0, 8)}`;
    const bundle = world.bundle({ "tessera.yaml": RESOURCE(placement, target), "slow.ts": MODULE });
    const hosted = await world.host({ project, bundle, leaseMs: LEASE_MS, callerLeaseMs: LEASE_MS });
    if (placement === "edge") await world.edge(hosted, target, { leaseMs: LEASE_MS });
    return { ...hosted, target };
  }

  const at = (placement: ToolPlacement) => placed.get(placement) as HostedProject & { readonly target: string };
  const newLedger = () => join(world.directory, `ledger-${++ledgers}`);
  const notes = (ledger: string) => wholeLines(ledger).map((line) => JSON.parse(line) as Note);
  const request = (hosted: HostedProject, tool_name: string, args: Record<string, unknown>) =>
    hosted.caller.request({ project_id: hosted.project, tool_name, arguments: args });

  it("a tool ten times slower than its lease runs once in every placement, though its command comes 50 times more", async () => {
    await Promise.all(TOOL_PLACEMENTS.map(runsOnce));
    await world.expectSafe();
  });

  async function runsOnce(placement: ToolPlacement): Promise<void> {
    const hosted = at(placement);
    const ledger = newLedger();
    const { agent_turn_id } = await request(hosted, "slow__sleep", { ledger, ms: SLOW_MS });
    await waitFor(() => notes(ledger).length === 1, { what: `the ${placement} tool to start` });
    const isLocal = placement === "inline" || placement === "isolated";
    const command = world.published.find((message) => message.subject.includes(`${hosted.project}.public.cmd.tool.`));
    expect(command === undefined).toBe(isLocal); // no command goes out for a local call
    for (let n = 0; n < 5 && command !== undefined; n += 1) {
      await world.node.bus.publish(Array.from({ length: 10 }, () => command));
      await new Promise<void>((resolve) => void world.node.clock.after(LEASE_MS, resolve));
    }
    const answer = await awaitToolCall(world.node, hosted.project, agent_turn_id, { waitMs: 15_000 });
    expect(answer, placement).toMatchObject({ status: "success", result: { attempt: 1 } });
    expect(notes(ledger)).toHaveLength(1);
    if (placement !== "service") return;
    const counts = hosted.host.services[0]?.counts;
    const late = (counts?.get("already_claimed") ?? 0) + (counts?.get("already_settled") ?? 0);
    expect(late).toBeGreaterThanOrEqual(50);
  }

  it.each(TOOL_PLACEMENTS)(
    "a stopped turn's tool in the placement %s is aborted, and its answer is dropped",
    async (placement) => {
      const hosted = at(placement);
      const ledger = newLedger();
      const warned = world.warnings.length;
      const { agent_turn_id } = await request(hosted, "slow__wait", { ledger });
      await waitFor(() => notes(ledger).length === 1, { what: "the tool to start" });
      await world.node.kernel.stopTurn({ project_id: hosted.project, agent_turn_id });
      await waitFor(() => notes(ledger).at(-1)?.what === "aborted", { what: "ctx.signal", timeoutMs: 5_000 });
      expect(await world.node.kernel.reads.turn(hosted.project, agent_turn_id)).toMatchObject({ status: "canceled" });
      // A call that comes after it finds the executor free, so whatever the canceled one did is done.
      await world.call(hosted, "slow__sleep", { ledger: newLedger(), ms: 0 });
      const cards = await world.cardsOf(hosted.project, agent_turn_id);
      expect(cards.filter((card) => card.type === "tool.result" && JSON.stringify(card).includes("late"))).toEqual([]);
      const [made] = await world.node.kernel.reads.callsOfTurn(hosted.project, agent_turn_id);
      expect(made).toMatchObject({ result_status: "canceled" }); // the kernel's own word, at the stop
      const audited = await world.node.kernel.reads.audit(hosted.project);
      expect(
        audited.filter(({ kind, tool_call_id }) => kind === "report" && tool_call_id === made?.tool_call_id),
      ).toEqual([]);
      expect(world.warnings.slice(warned).filter((warning) => !warning.includes("lease"))).toEqual([]);
      await world.expectSafe();
    },
  );

  it.each(TOOL_PLACEMENTS)(
    "a retryable failure in the placement %s is tried again with growing pauses and the same key, as often as it may be",
    async (placement) => {
      const hosted = at(placement);
      const [shaky, broken] = [newLedger(), newLedger()];
      const [good, bad] = await Promise.all([
        world.call(hosted, "slow__shaky", { ledger: shaky }),
        world.call(hosted, "slow__broken", { ledger: broken }),
      ]);
      expect(good).toMatchObject({ status: "success", result: { attempt: 3 } });
      expect(bad).toMatchObject({ status: "failed", error: { code: "internal_error", message: "never" } });
      for (const ledger of [shaky, broken]) {
        expect(notes(ledger).map((note) => note.attempt)).toEqual([1, 2, 3]);
        expect(new Set(notes(ledger).map((note) => note.key)).size).toBe(1);
      }
      const [first, second, third] = notes(shaky).map((note) => note.at) as [number, number, number];
      expect(second - first).toBeGreaterThanOrEqual(99);
      expect(third - second).toBeGreaterThanOrEqual(199);
    },
  );

  it("a service that stops waits for its running call and takes no new one", async () => {
    const hosted = await start("service");
    const [service] = hosted.host.services;
    const [running, waiting, until] = [newLedger(), newLedger(), newLedger()];
    const first = await request(hosted, "slow__sleep", { ledger: running, ms: 20_000, until });
    await waitFor(() => notes(running).length === 1, { what: "the first call to run" });
    let isStopped = false;
    const stopped = service?.stop().then(() => {
      isStopped = true;
    });
    const second = await request(hosted, "slow__sleep", { ledger: waiting, ms: 0 });
    const openCall = async () => (await world.node.kernel.reads.callsOfTurn(hosted.project, second.agent_turn_id))[0];
    await waitFor(openCall, { what: "the second call to be committed" });
    await new Promise<void>((resolve) => void world.node.clock.after(LEASE_MS, resolve));
    expect(isStopped).toBe(false);
    writeFileSync(until, "go");
    await stopped;
    expect(await awaitToolCall(world.node, hosted.project, first.agent_turn_id, { waitMs: 5_000 })).toMatchObject({
      status: "success",
      result: { attempt: 1 },
    });
    expect(await openCall()).toMatchObject({ wait_status: "waiting", attempt: 0 });
    expect(notes(waiting)).toEqual([]);
  });

  it.each(["service", "edge"] as const)(
    "never more calls than the limit run at once in the placement %s",
    async (placement) => {
      const project = world.newProject();
      const target = `few_${createHash("sha256").update(project).digest("hex").slice(0, 8)}`;
      let running = 0;
      let most = 0;
      const few = defineTool({
        name: "few__run",
        placement,
        target,
        effect: "read",
        async handler() {
          running += 1;
          most = Math.max(most, running);
          // The first ones stay until it is full, however long a claim takes here.
          await waitFor(() => most >= 3, { what: "three at once" });
          await new Promise<void>((resolve) => void world.node.clock.after(60, resolve));
          running -= 1;
          return { most };
        },
      });
      const hosted = await world.host({ project, tools: [few], concurrencyMax: 3 });
      if (placement === "edge") await world.edge(hosted, target, { concurrencyMax: 3 });
      const answers = await Promise.all(Array.from({ length: 15 }, () => world.call(hosted, "few__run", {})));
      expect(answers.every((answer) => answer.status === "success")).toBe(true);
      expect(most).toBe(3);
    },
  );
});

describe("a store that cannot be reached when a tool has ended", () => {
  it("gets the result as soon as it is back, and the tool does not run again", async () => {
    const world = await CallWorld.open({ sweep: true });
    let failures = 0;
    let runs = 0;
    const service = await startToolService({
      ...world,
      kernel: {
        ...world.kernel,
        report: async (request) => {
          failures += 1;
          if (failures <= 3) throw new Error("the store is away");
          return await world.kernel.report(request);
        },
      },
      target: "away",
      executor: "service-1",
      leaseMs: LEASE_MS,
      runner: {
        run: async () => {
          runs += 1;
          return { status: "success", after_execution: "suspend", result: { run: runs }, error: null };
        },
        close: async () => undefined,
      },
      onWarning: (warning) => world.warnings.push(warning),
    });
    try {
      const call = await world.commit({ target_subject: `cg.v1r4.${world.project}.public.cmd.tool.away.run` });
      expect(await world.resultOf(call.tool_call_id)).toMatchObject({ status: "success", result: { run: 1 } });
      expect(await world.call(call.tool_call_id)).toMatchObject({ attempt: 1 });
      expect({ runs, failures }).toEqual({ runs: 1, failures: 4 });
      expect(world.warnings.filter((warning) => warning.includes("sent again"))).toHaveLength(3);
      await world.expectSafe();
    } finally {
      await service.stop();
      await world.close();
    }
  });
});
