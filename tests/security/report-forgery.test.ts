// Forged reports (docs/reference/security.md#r-reports): a client that knows a call, but was not given this attempt of it, changes no
// row and leaves one line in the audit of the call's own project. Its rightful holder still reports afterwards.
//
//   F1. Rows are compared whole, by a digest of every table but the audit log.
//   F2. The answer and the audit line hold no capability, neither the forged one nor the real one.

import { createHash } from "node:crypto";
import type { OpenedCall, ReportOutcome, ReportRequest } from "@tessera/kernel";
import { HEADERS } from "@tessera/protocol";
import { type TestEngine, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { changedTables, rowsDigest } from "../fuzz/rows-digest.ts";
import { CallWorld } from "../tools/call-world.ts";

const PRINCIPAL = "tool.echo";
const GOOD = { status: "success", result: { ok: true } } as const;

interface Held {
  readonly call: OpenedCall;
  readonly ticket: string;
  /** What the rightful holder would send. */
  readonly report: ReportRequest;
}

interface Scene {
  readonly world: CallWorld;
  readonly mine: Held;
  readonly other: Held;
  /** Of another project, which exists. */
  readonly foreign: string;
  /** The capability that the first attempt at `mine` had. */
  readonly earlier: string;
  /** A card that `other` saved as its result. */
  readonly otherCard: string;
}

type Forge = (scene: Scene) => Readonly<Record<string, unknown>>;

const flipped = (hex: string) => (Number.parseInt(hex.slice(0, 1), 16) ^ 1).toString(16) + hex.slice(1);
const pointer = (tool_result_card_id: string) => ({
  ...{ content: undefined, tool_result_card_id, status: "success", after_execution: "suspend" },
});

const FORGED: readonly (readonly [string, string, Forge])[] = [
  ["without a capability", "auth_failed", () => ({ capability: "" })],
  ["with the call's id for a capability", "auth_failed", ({ mine }) => ({ capability: mine.call.tool_call_id })],
  ["with the ticket for a capability", "auth_failed", ({ mine }) => ({ capability: mine.ticket })],
  ["with a guess", "auth_failed", () => ({ capability: "00".repeat(32) })],
  ["with one bit flipped", "auth_failed", ({ mine }) => ({ capability: flipped(mine.call.capability) })],
  ["with half of it", "auth_failed", ({ mine }) => ({ capability: mine.call.capability.slice(0, 32) })],
  ["with it twice", "auth_failed", ({ mine }) => ({ capability: mine.call.capability.repeat(2) })],
  ["with its hash, as the store keeps it", "auth_failed", ({ mine }) => ({ capability: hashOf(mine.call.capability) })],
  ["with another call's capability", "auth_failed", ({ other }) => ({ capability: other.call.capability })],
  ["with an earlier attempt's capability", "stale_attempt", ({ earlier }) => ({ capability: earlier })],
  ["in the name of another project", "not_found", ({ foreign }) => ({ project_id: foreign })],
  ["by another principal", "auth_failed", () => ({ principal: "tool.other" })],
  ["by a principal with no name", "auth_failed", () => ({ principal: "" })],
  ["by the watchdog that it says it is", "protocol_violation", () => ({ author_id: "sys.watchdog" })],
  ["in another tool's name", "protocol_violation", () => ({ author_id: "tool.other" })],
  ["of another function", "protocol_violation", () => ({ function_name: "other__run" })],
  ["in another trace", "protocol_violation", () => ({ traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` })],
  ["of another agent", "protocol_violation", () => ({ agent_id: "agent_other" })],
  ["of another turn", "protocol_violation", () => ({ agent_turn_id: "turn_other" })],
  ["of an earlier epoch", "stale_epoch", ({ mine }) => ({ turn_epoch: mine.call.turn_epoch - 1 })],
  ["of a later epoch", "stale_epoch", () => ({ turn_epoch: 999 })],
  ["that says it timed out", "forbidden", () => ({ message_type: "timeout" })],
  ["that points to another call's result", "protocol_violation", ({ otherCard }) => pointer(otherCard)],
  ["that points to the call itself", "protocol_violation", ({ mine }) => pointer(mine.call.tool_call_card_id)],
];

const hashOf = (hex: string) => createHash("sha256").update(Buffer.from(hex, "hex")).digest("hex");

describe.each<TestEngine>(["pglite", "postgres"])("a forged report, on %s", (engine) => {
  let scene: Scene;

  async function held(world: CallWorld, options: { readonly loses?: boolean } = {}): Promise<Held & { first: string }> {
    const { kernel, project } = world;
    const committed = await world.commit({ effect: "idempotent", attempts_max: 3 }, { isSecond: true });
    const ticket = committed.command.headers[HEADERS.call_ticket] ?? "";
    const { tool_call_id } = committed;
    const ask = { project_id: project, tool_call_id, ticket, executor: "e1", principal: PRINCIPAL };
    const first = await kernel.openCall({ ...ask, ...(options.loses === true ? { lease_ms: 1 } : {}) });
    if (first.outcome === "rejected") throw new Error(first.code);
    const again = () =>
      waitFor(
        async () => {
          await kernel.sweep();
          const claim = { project_id: project, target: "echo", executor: "e2", principal: PRINCIPAL };
          return (await kernel.claimCalls(claim)).find((each) => each.tool_call_id === tool_call_id);
        },
        { what: "the second attempt to be given out" },
      );
    const call: OpenedCall = options.loses === true ? await again() : first;
    const report = {
      project_id: project,
      tool_call_id,
      capability: call.capability,
      principal: PRINCIPAL,
      content: GOOD,
    };
    return { call, ticket, report, first: first.capability };
  }

  beforeAll(async () => {
    const world = await CallWorld.open({ engine });
    const foreign = world.ids.mint("p");
    await world.kernel.putProject({ project_id: foreign });
    const mine = await held(world, { loses: true });
    const other = await held(world);
    const saved = await world.kernel.putResultCard({ ...other.report, content: GOOD });
    if (saved.outcome === "rejected") throw new Error(saved.code);
    scene = { world, mine, other, foreign, earlier: mine.first, otherCard: saved.tool_result_card_id };
    expect(scene.earlier).not.toBe(mine.call.capability);
    expect(mine.call.turn_epoch, "so that there is an earlier epoch").toBeGreaterThan(1);
  });
  afterAll(async () => {
    await scene.world.expectSafe();
    await scene.world.close();
  });

  const audit = () =>
    scene.world.store.database.query<{ kind: string; code: string; project_id: string; row: string }>(
      "select kind, code, project_id, to_jsonb(a)::text as row from state.audit_log a order by audit_id",
    );

  it.each(FORGED)("%s is refused as %s: no row changes, and there is one line in the audit", async (_, code, forge) => {
    const { world, mine } = scene;
    const forged = { ...mine.report, ...forge(scene) } as ReportRequest;
    const before = { rows: await rowsDigest(world.store.database), audit: await audit() };
    const answer: ReportOutcome = await world.kernel.report(forged);
    expect(answer).toEqual({ outcome: "rejected", code });
    expect(changedTables(before.rows, await rowsDigest(world.store.database))).toEqual([]); // F1
    const added = (await audit()).slice(before.audit.length);
    const noted = code === "not_found" ? "tenant_mismatch" : code;
    expect(added.map(({ kind, code, project_id }) => [kind, code, project_id])).toEqual([
      ["report", noted, world.project],
    ]);
    for (const secret of [mine.call.capability, forged.capability].filter((text) => /^[0-9a-f]{32,}$/.test(text))) {
      expect(JSON.stringify(added)).not.toContain(secret); // F2
    }
  });

  it("is distinguished from a true one that comes a thousand times at once: one is accepted, 999 are duplicates", async () => {
    const { world } = scene;
    const { report } = await held(world);
    const [before, startedAt] = [process.cpuUsage(), performance.now()];
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => world.kernel.report(report)));
    const [cpuMs, ms] = [process.cpuUsage(before).user / 1_000, performance.now() - startedAt];
    console.info(`${engine}: a thousand twins in ${Math.round(ms)} ms, ${Math.round(cpuMs)} ms of CPU time`);
    expect(cpuMs).toBeLessThan(2_000);
    expect(ms, "of the clock, on a machine that may be busy").toBeLessThan(10_000);
    const outcomes = answers.map(({ outcome }) => outcome);
    expect(outcomes.filter((outcome) => outcome === "accepted")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "duplicate")).toHaveLength(999);
  });

  it("is no report at all: the holder of the attempt is still heard, once", async () => {
    const { world, mine, other } = scene;
    for (const { report } of [mine, other]) {
      expect(await world.kernel.report(report)).toMatchObject({ outcome: "accepted" });
      expect(await world.kernel.report(report)).toMatchObject({ outcome: "duplicate" });
      expect(await world.kernel.report({ ...report, capability: flipped(report.capability) })).toEqual({
        outcome: "rejected",
        code: "auth_failed",
      });
    }
  });
});
