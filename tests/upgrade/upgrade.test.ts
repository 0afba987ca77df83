// Stores of earlier builds, opened by this one: migrated, every parked turn taken to its end, every rule held.
//
// The tools of the bundle answer now, and all of them have executors. What must come of each kind of parked work is the same
// for every build, so a store that is added to stores/ is tested without a change here.

import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { enqueueAgentTurn, type ModelCall } from "@tessera/agent";
import { openPglite } from "@tessera/engines/pglite";
import { checkSchema, type Row, verifyStore } from "@tessera/kernel";
import type { Database } from "@tessera/kernel/ports";
import { openProcess, type Process } from "@tessera/runtime";
import { createTestDatabases, waitFor, wholeLines } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  BUNDLE,
  contentOf,
  moveToNow,
  type ParkedStore,
  PROJECT,
  parkedStores,
  unpackDirectory,
} from "./parked-store.ts";

const STORES = parkedStores();

/** What models are sent, which the scripted one does not tell. */
const sent = vi.hoisted((): ModelCall[] => []);
vi.mock(import("@tessera/agent"), async (original) => {
  const agent = await original();
  const createModels: typeof agent.createModels = (options) => {
    const models = agent.createModels(options);
    return {
      call: (call, onChunk) => {
        sent.push(call);
        return models.call(call, onChunk);
      },
    };
  };
  return { ...agent, createModels };
});

const said = (role: string, text: string) => ({ role, content: role === "user" ? text : [{ type: "text", text }] });
const calling = (text: string, toolName: string) => ({
  role: "assistant",
  content: [{ type: "text", text }, expect.objectContaining({ type: "tool-call", toolName })],
});
const resultOf = (toolName: string) => ({
  role: "tool",
  content: [expect.objectContaining({ type: "tool-result", toolName })],
});

it("keeps a store of the first release for both engines", () => {
  expect(STORES.map(({ name, engine }) => `${name} ${engine}`)).toEqual(
    expect.arrayContaining(["c3cfeab pglite", "c3cfeab postgres"]),
  );
});

describe.each(STORES.map((store) => [store.name, store.engine, store] as const))(
  "a store of %s on %s",
  (...[, , store]) => {
    const root = mkdtempSync(join(tmpdir(), "tessera-upgrade-"));
    const bundle = join(root, "bundle");
    const warnings: string[] = [];
    const closing: (() => Promise<void>)[] = [];
    let opened: Process;
    const { turns } = store;

    beforeAll(async () => {
      sent.length = 0;
      cpSync(BUNDLE, bundle, { recursive: true });
      writeFileSync(join(bundle, "ledger.jsonl"), store.ledger); // what the killed tools had done
      const place = await unpack(store, join(root, "data"), closing);
      opened = await openProcess({
        ...place,
        project: PROJECT,
        bundle,
        migrate: "yes",
        env: {},
        executor: "upgraded",
        api: false,
        sweepIntervalMs: 200,
        onWarning: (warning) => void warnings.push(warning),
        onFatal: (error) => void warnings.push(error.message),
      });
      closing.push(() => opened.close({ graceMs: 0 }));
    }, 60_000);

    afterAll(async () => {
      for (const close of closing.reverse()) await close();
      rmSync(root, { recursive: true, force: true });
    }, 60_000);

    const query = (text: string, values: readonly unknown[] = []) => opened.node.store.database.query(text, values);

    const requestsOf = (agent: string) => sent.filter(({ agentName }) => agentName === agent);

    async function ended(turnId: string): Promise<Row> {
      const row = () => opened.node.kernel.reads.turn(PROJECT, turnId);
      const isOver = async () => (await row())?.ended_at != null;
      await waitFor(isOver, { what: `turn ${turnId} to end; ${warnings.slice(-5).join("; ")}`, timeoutMs: 60_000 });
      return (await row()) as Row;
    }

    /** Status and code of the results of a turn's calls, by tool. */
    async function resultsOf(turnId: string): Promise<Record<string, string>> {
      const turn = await ended(turnId);
      const cards = await opened.node.kernel.reads.boxCards(PROJECT, String(turn.output_box_id));
      const results = cards.filter((card) => card.type === "tool.result" && card.metadata.agent_turn_id === turnId);
      return Object.fromEntries(
        results.map(({ metadata, content }) => {
          const { status, error } = content as { status: string; error: { code: string } | null };
          return [String(metadata.function_name), error === null ? status : `${status} ${error.code}`];
        }),
      );
    }

    /** What the tools did for a turn since the upgrade, with the key that the killed run had. */
    function actsSince(of: string): { name: string; hasOldKey: boolean }[] {
      const before = store.ledger.trim().split("\n");
      const lines = wholeLines(join(bundle, "ledger.jsonl")).slice(before.length);
      const entries = lines.map((line) => JSON.parse(line) as { name: string; of: string; key: string });
      return entries
        .filter((entry) => entry.of === of)
        .map(({ name, key }) => ({ name, hasOldKey: store.ledger.includes(key) }));
    }

    it("is brought to this build's schema", async () => {
      await checkSchema(opened.node.store.database);
    });

    it("keeps what had ended as it was", async () => {
      for (const turn of turns.history) expect(await ended(turn)).toMatchObject({ turn_status: "success" });
    });

    it("takes a turn that waits for a remote call to its end, and the one queued behind it", async () => {
      expect(await ended(turns.remote)).toMatchObject({ turn_status: "success" });
      expect(await resultsOf(turns.remote)).toEqual({ away__idempotent: "success" });
      expect(await ended(turns.queued)).toMatchObject({ turn_status: "success" });
      expect(await resultsOf(turns.queued)).toEqual({ away__idempotent: "success" });
    }, 60_000);

    it("sends a turn that was parked what the build that parked it would have sent", async () => {
      await ended(turns.remote);
      const [request] = requestsOf("remote").filter(({ messages }) => messages[0]?.content === "please");
      const [first, ...more] = request?.messages ?? [];
      expect(first).toEqual(said("user", "please"));
      expect(more).toEqual([calling("Out it goes.", "away__idempotent"), resultOf("away__idempotent")]);
    }, 60_000);

    it("numbers the turns there are, and lets those that begin now remember them", async () => {
      await ended(turns.queued);
      const rows = await query(
        "select agent_turn_id, turn_number::int as n from state.agent_turns where agent_turn_id = any ($1) order by dispatched_at",
        [[...turns.history, turns.remote, turns.queued]],
      );
      expect(rows.map(({ agent_turn_id, n }) => [agent_turn_id, n])).toEqual([
        [turns.history[0], 1],
        [turns.history[1], 2],
        [turns.remote, 1],
        [turns.queued, 2],
      ]);
      const whole = [said("user", "please"), calling("Out it goes.", "away__idempotent"), resultOf("away__idempotent")];
      expect(requestsOf("remote").map(({ messages }) => messages)).toContainEqual([
        ...[...whole, said("assistant", "done"), said("user", "after that")],
        ...whole.slice(1),
      ]);
      const { kernel, ids } = opened.node;
      const asked = await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent: "historian", input: "and now?" });
      await ended(asked.agent_turn_id);
      expect(requestsOf("historian").at(-1)?.messages).toEqual([
        said("user", "the year was 1204"),
        said("assistant", "Noted: the year was 1204"),
        said("user", "and then came 1205"),
        said("assistant", "Noted: and then came 1205"),
        said("user", "and now?"),
      ]);
    }, 60_000);

    it("settles a call whose deadline passed while the store was closed", async () => {
      expect(await resultsOf(turns.late)).toEqual({ away__once: "timeout no_executor" });
      expect(actsSince("late")).toEqual([]);
    }, 60_000);

    it("treats calls of a dead executor by their effects", async () => {
      expect(await resultsOf(turns.claimed)).toEqual({
        busy__idempotent: "success",
        busy__once: "failed outcome_unknown",
        busy__reconciled: "success",
      });
      expect(actsSince("claimed")).toEqual([{ name: "idempotent", hasOldKey: true }]);
    }, 60_000);

    it("treats calls of a dead worker by their effects", async () => {
      expect(await resultsOf(turns.local)).toEqual({
        here__idempotent: "success",
        here__once: "failed outcome_unknown",
      });
      expect(actsSince("local")).toEqual([{ name: "idempotent", hasOldKey: true }]);
      expect(await resultsOf(turns.boxed)).toEqual({ boxed__idempotent: "success" });
      expect(actsSince("boxed")).toEqual([{ name: "idempotent", hasOldKey: true }]);
    }, 60_000);

    it("completes a step of which some calls were answered and some not", async () => {
      expect(await resultsOf(turns.mixed)).toEqual({
        quick__note: "success",
        here__idempotent: "success",
        away__read: "success",
      });
    }, 60_000);

    it("joins children that were parked", async () => {
      expect(await ended(turns.forker)).toMatchObject({ turn_status: "success" });
      expect(await resultsOf(turns.forker)).toEqual({ fork_join: "success" });
      const children = await query("select status from state.agent_turns where parent_agent_turn_id = $1", [
        turns.forker,
      ]);
      expect(children).toEqual([{ status: "success" }, { status: "success" }]);
    }, 60_000);

    it("takes new work, and breaks no rule", async () => {
      const { kernel, ids, store: inner } = opened.node;
      const asked = await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent: "mixed", input: "anew" });
      expect(await ended(asked.agent_turn_id)).toMatchObject({ turn_status: "success" });
      const verify = async () => (await verifyStore(inner.database, { drained: true })).violations;
      await waitFor(async () => (await verify()).length === 0, { what: "a drained store", timeoutMs: 20_000 }).catch(
        () => undefined,
      );
      expect(await verify()).toEqual([]);
    }, 90_000);
  },
);

/** A copy of the store at its place, its deadlines moved (U2). */
async function unpack(
  store: ParkedStore,
  data: string,
  closing: (() => Promise<void>)[],
): Promise<{ data: string } | { postgres: string }> {
  const move = async (database: Database) => {
    await moveToNow(database, store);
    await database.close();
  };
  if (store.engine === "pglite") {
    unpackDirectory(store, data);
    await move(await openPglite({ directory: data }));
    return { data };
  }
  const databases = createTestDatabases({
    engine: "postgres",
    digest: `parked-${store.name}`,
    prepare: (empty) => restore(empty, store),
  });
  const copy = await databases.open();
  closing.push(() => copy.close());
  await move(await copy.another());
  return { postgres: copy.url ?? "" };
}

const ROLES = ["tessera_kernel", "tessera_worker", "tessera_api", "tessera_api_ro", "tessera_tool"];

async function restore(empty: Database, store: ParkedStore): Promise<void> {
  for (const role of ROLES) {
    await empty.script(`do $$ begin create role ${role} nologin; exception when duplicate_object then null; end $$`);
  }
  await empty.script(contentOf(store).toString());
}
