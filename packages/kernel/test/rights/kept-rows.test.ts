// Rows that a login keeps locked by staying in its transaction, on PostgreSQL with the roles of deploy/roles.sql and the database's own
// clock. PGlite has one session: no session waits there. That a refused request keeps none is held-rows.test.ts.

import { readFileSync } from "node:fs";
import { openPostgres } from "@tessera/engines/postgres";
import { systemClock } from "@tessera/engines/system";
import { TesseraError } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Database, type Kernel, openKernel, type Statements } from "../../src/index.ts";
import { hold, PROJECT, SUBJECT, type Suspended, useFixture } from "../fixture.ts";

const fx = useFixture();
const rolesSql = readFileSync(new URL("../../../../deploy/roles.sql", import.meta.url), "utf8");
const needsRoles = process.env.TESSERA_TEST_ENGINE === "postgres";
const suffix = Math.trunc(performance.timeOrigin).toString(36);
const login = (role: string) => `kept_${role}_${suffix}`;
const LOGINS = ["tool", "worker", "api", "api_ro", "kernel"] as const;
/** A session is ended after 5 s, and then at the next sweep; a request gives up after 7 s. On a machine that is busy. */
const ENDED_MS_MAX = 12_000;
const ANSWERED_MS_MAX = 12_000;
/** What has nothing to do with a locked row shares a batch with one for a second at most. */
const OTHERS_MS_MAX = 5_000;

interface Kept {
  readonly pid: number;
  /** Lets the rows go; rejects when the session was ended. */
  release(): Promise<void>;
}

/** Runs `work` in a transaction that stays open, with the timeout that a login may take from itself. */
async function keepOpen(database: Database, work: (tx: Statements) => Promise<unknown>): Promise<Kept> {
  const ready = Promise.withResolvers<number>();
  const released = Promise.withResolvers<void>();
  const ended = database.transaction(async (tx) => {
    await tx.query("set idle_in_transaction_session_timeout = 0");
    await work(tx);
    const [row] = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
    ready.resolve(row?.pid ?? 0);
    await released.promise;
  });
  ended.catch((error: unknown) => ready.reject(error));
  return {
    pid: await ready.promise,
    release: async () => {
      released.resolve();
      await ended;
    },
  };
}

const isAlive = async (pid: number) =>
  (await fx.query("select 1 from pg_stat_activity where pid = $1", [pid])).length > 0;

async function took<T>(work: () => Promise<T>): Promise<{ readonly ms: number; readonly answer: T | unknown }> {
  const before = performance.now();
  const answer = await work().catch((error: unknown) => error);
  return { ms: performance.now() - before, answer };
}

if (needsRoles) {
  const databases = new Map<string, Database>();
  const databaseOf = (role: (typeof LOGINS)[number]): Database => databases.get(role) as Database;
  const kernelOf = (database: Database): Kernel =>
    openKernel({
      database,
      bus: fx.bus,
      clock: systemClock,
      ids: fx.ids,
      onWarning: (warning) => void fx.warnings.push(warning),
    });
  let api: Kernel;
  let kernel: Kernel;

  beforeAll(async () => {
    await fx.store.database.script(rolesSql);
    for (const role of LOGINS) {
      await fx.store.database.script(`create role ${login(role)} login in role tessera_${role}`);
      databases.set(role, await fx.store.another({ user: login(role) }));
    }
    [api, kernel] = [kernelOf(databaseOf("api")), kernelOf(databaseOf("kernel"))];
    fx.kernel = kernel; // its turns live by the database's clock
  });
  afterAll(async () => {
    for (const role of LOGINS) await fx.store.database.script(`drop role ${login(role)}`);
  });

  /** A login of tools opens what it was given, and stays. */
  const keepCalls = (turns: readonly Suspended[]) =>
    keepOpen(databaseOf("tool"), async (tx) => {
      for (const { calls } of turns) {
        const item = { project_id: PROJECT, tool_call_id: calls[0]?.tool_call_id, ticket: calls[0]?.ticket };
        const [row] = await tx.query<{ answer: { outcome: string }[] }>("select l0.open_call($1::jsonb) as answer", [
          JSON.stringify([{ ...item, executor: "e", claim_id: "c1" }]),
        ]);
        expect(row?.answer[0]).toMatchObject({ outcome: "accepted" });
      }
    });
  const fourTurns = () => Promise.all(Array.from({ length: 4 }, () => fx.suspended()));
  const stop = (turn: Suspended) => api.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
  const deadlinePassed = (turns: readonly Suspended[]) =>
    fx.query(
      "update state.calls set deadline_at = now() - interval '10 seconds', due_at = now() - interval '10 seconds' where agent_turn_id = any ($1)",
      [turns.map(({ agent_turn_id }) => agent_turn_id)],
    );
  const settledBy = async (turn: Suspended) => {
    const [row] = await fx.query("select settled_by from state.calls where tool_call_id = $1", [
      turn.calls[0]?.tool_call_id,
    ]);
    return row?.settled_by;
  };

  describe("while a tool's login keeps four calls of a project locked", () => {
    it("what shares a batch with them is answered, and they are refused in bounded time", {
      timeout: 90_000,
    }, async () => {
      const [kept, free] = [await fourTurns(), await fx.suspended()];
      const holder = await keepCalls(kept);
      const stops = [...kept, free].map((turn) => took(() => stop(turn)));
      const batchesBehind = Array.from({ length: 4 }, (_, n) => took(() => stop(kept[n] as Suspended)));
      const key = took(() => api.createApiKey({ project_id: PROJECT, role: "viewer" } as never));

      expect((await key).ms).toBeLessThan(OTHERS_MS_MAX);
      expect((await key).answer).toMatchObject({ key_id: expect.any(String) });
      const ofFree = await stops[4];
      expect(ofFree?.answer).toMatchObject({ outcome: "accepted" });
      expect(ofFree?.ms).toBeLessThan(OTHERS_MS_MAX);
      for (const each of [...stops.slice(0, 4), ...batchesBehind]) {
        const { ms, answer } = await each;
        expect(TesseraError.is(answer) && answer.code).toBe("storage_busy");
        expect(TesseraError.is(answer) && [answer.http, answer.retry]).toEqual([503, "same-call"]);
        expect(ms).toBeLessThan(2 * ANSWERED_MS_MAX); // a second stop of one turn waits for the first
      }
      await holder.release();
      expect(await stop(kept[0] as Suspended)).toMatchObject({ outcome: "accepted" });
    });

    it("everything else is settled and given out, what was passed over is reported, and the session is ended", {
      timeout: 60_000,
    }, async () => {
      const [kept, late, free] = [await fourTurns(), await fx.suspended(), await fx.suspended()];
      const holder = await keepCalls(kept);
      const since = performance.now();
      await deadlinePassed([late]);
      await kernel.sweep();
      expect(await settledBy(late)).toBe("deadline");
      const claimed = await kernel.claimCalls({ project_id: PROJECT, target: "echo", executor: "edge", max: 50 });
      expect(claimed.map(({ tool_call_id }) => tool_call_id)).toContain(free.calls[0]?.tool_call_id);
      expect(claimed.map(({ tool_call_id }) => tool_call_id)).not.toContain(kept[0]?.calls[0]?.tool_call_id);

      expect(await isAlive(holder.pid)).toBe(true);
      let endedSessions = 0;
      await waitFor(
        async () => {
          endedSessions += (await kernel.sweep()).endedSessions;
          return endedSessions > 0;
        },
        { what: "the session to be ended", timeoutMs: 30_000 },
      );
      expect(performance.now() - since).toBeLessThan(ENDED_MS_MAX);
      await waitFor(async () => !(await isAlive(holder.pid)), { what: "the session to be gone" });
      await expect(holder.release()).rejects.toThrow();
      expect(fx.warnings.join("\n")).toMatch(
        new RegExp(`a session of ${login("tool")} was ended.*idle in transaction`),
      );
      for (const turn of kept) expect(await stop(turn)).toMatchObject({ outcome: "accepted" });
    });

    it("a deadline of theirs that passes is reported with its age, and settled once they are free", {
      timeout: 60_000,
    }, async () => {
      const kept = await fourTurns();
      await fx.query(
        "update state.calls set due_at = now() - interval '10 seconds', deadline_at = now() + interval '2 seconds' where agent_turn_id = any ($1)",
        [kept.map(({ agent_turn_id }) => agent_turn_id)],
      );
      const holder = await keepCalls(kept);
      // Passed over for long already: the sweep waits for one of them, and ends whom it waits for.
      expect(await kernel.sweep()).toMatchObject({ skipped: 4, endedSessions: 1 });
      expect(fx.warnings.findLast((warning) => warning.includes("passed over"))).toMatch(
        /l0\.sweep_calls passed over 4 rows that are due, .* since 1\d s/,
      );
      await expect(holder.release()).rejects.toThrow();
      await waitFor(async () => (await kernel.sweep()) && (await settledBy(kept[3] as Suspended)) === "deadline", {
        what: "the deadlines to count",
      });
      for (const turn of kept) expect(await settledBy(turn)).toBe("deadline");
    });
  });

  describe("while a tool's sessions hand the row of their call from one to the next, each for a moment", () => {
    /** Until `meanwhile` has ended. The next one waits already when one ends; the row is locked in a transaction below another. */
    async function whileHandedOn(seconds: number, turn: Suspended, meanwhile: () => Promise<unknown>): Promise<void> {
      const tool = await fx.store.another({ user: login("tool"), poolMax: 4 });
      const item = { project_id: PROJECT, tool_call_id: turn.calls[0]?.tool_call_id };
      const opening = { ...item, ticket: turn.calls[0]?.ticket, executor: "e", claim_id: "c1" };
      const [opened] = await tool.query<{ answer: { capability: string }[] }>(
        "select l0.open_call($1::jsonb) as answer",
        [JSON.stringify([opening])],
      );
      const renewing = JSON.stringify([{ ...item, capability: opened?.answer[0]?.capability }]);
      const below = `begin perform l0.renew_call('${renewing}'); exception when division_by_zero then null; end`;
      let isOver = false;
      const hold = async () => {
        while (!isOver) {
          await tool
            .query(`do $$ begin set local lock_timeout = 0; ${below}; perform pg_sleep(${seconds}); end $$`)
            .catch(() => undefined);
        }
      };
      const others = Array.from({ length: 4 }, hold);
      const isLocked = "select 1 from state.calls where tool_call_id = $1 for no key update skip locked";
      try {
        await waitFor(async () => (await fx.query(isLocked, [item.tool_call_id])).length === 0, {
          what: "the row to be locked",
        });
        await meanwhile();
      } finally {
        isOver = true;
        await Promise.all(others);
      }
    }
    const everySecond = { timeoutMs: 30_000, intervalMs: 1_000 };

    it("its deadline counts", { timeout: 90_000 }, async () => {
      const turn = await fx.suspended();
      await fx.query(
        "update state.calls set due_at = now() - interval '10 seconds', deadline_at = now() + interval '2 seconds' where agent_turn_id = $1",
        [turn.agent_turn_id],
      );
      await whileHandedOn(0.4, turn, () =>
        waitFor(async () => (await kernel.sweep()) && (await settledBy(turn)) === "deadline", {
          what: "the deadline to count",
          ...everySecond,
        }),
      );
    });

    it("it can be stopped", { timeout: 90_000 }, async () => {
      const turn = await fx.suspended();
      await whileHandedOn(2, turn, async () => {
        const outcomes: string[] = [];
        const stopped = (async () => {
          while (outcomes.at(-1) !== "accepted" && outcomes.length < 4) {
            outcomes.push(
              await stop(turn).then(
                ({ outcome }) => outcome,
                (error: TesseraError) => error.code,
              ),
            );
          }
        })();
        await Promise.race([
          stopped,
          waitFor(async () => (await kernel.sweep()) && outcomes.at(-1) === "accepted", {
            what: "an end",
            timeoutMs: 60_000,
            intervalMs: 1_000,
          }),
        ]);
        expect(outcomes.at(-1)).toBe("accepted");
      });
    });
  });

  it("a key counts while another session keeps its row locked", async () => {
    const key = await api.createApiKey({ project_id: PROJECT, role: "viewer" });
    if (key.outcome === "rejected") throw new Error(key.code);
    const holder = await keepOpen(databaseOf("api"), (tx) =>
      tx.query("select 1 from resource.api_keys where key_id = $1 for update", [key.key_id]),
    );
    const { ms, answer } = await took(() => api.authenticate(key.text));
    expect(answer).toMatchObject({ key_id: key.key_id });
    expect(ms).toBeLessThan(900); // less than a statement waits for a lock
    await holder.release();
  });

  describe("a dead worker's turn", () => {
    it("is recovered beside one whose call another session keeps locked, and that one later", {
      timeout: 60_000,
    }, async () => {
      const worker = await fx.newWorker();
      const turns = [];
      for (let n = 0; n < 3; n += 1) turns.push(await fx.started({ worker_id: worker }));
      const locked = turns[1];
      if (locked === undefined) throw new Error("no turn");
      await kernel.suspendOnCalls({
        ...hold(locked),
        step_id: fx.ids.mint("step"),
        thought: { content: { text: "x" } },
        calls: [fx.call({ local: true, target_subject: SUBJECT })],
      });
      const holder = await keepOpen(databaseOf("worker"), (tx) =>
        tx.query("select 1 from state.calls where agent_turn_id = $1 for no key update", [locked.agent_turn_id]),
      );
      await fx.query("update state.workers set lease_until = now() - interval '1 second' where worker_id = $1", [
        worker,
      ]);
      expect(await kernel.sweep()).toMatchObject({ recovered: 2, skipped: 1 });
      expect(await fx.headStatus(locked)).toBe("running");
      await holder.release();
      expect(await kernel.sweep()).toMatchObject({ recovered: 1, skipped: 0 });
      expect(await fx.headStatus(locked)).toBe("dispatched");
    });

    it("is recovered while another session keeps the worker's own row locked", async () => {
      const turn = await fx.started();
      await fx.query("update state.workers set lease_until = now() - interval '1 second' where worker_id = $1", [
        turn.worker_id,
      ]);
      await fx.query("update state.workers set lapsed_at = now() where worker_id = $1", [turn.worker_id]);
      const holder = await keepOpen(databaseOf("worker"), (tx) =>
        tx.query("select 1 from state.workers where worker_id = $1 for no key update", [turn.worker_id]),
      );
      expect(await kernel.sweep()).toMatchObject({ recovered: 1 });
      await holder.release();
    });
  });

  describe("the watchdog", () => {
    const watch = async (idleMs: number, statementMs: number) => {
      const [row] = await databaseOf("kernel").query<{
        answer: { may: boolean; needed: boolean; ended?: { login: string }[] };
      }>("select l0.end_holders($1, $2) as answer", [idleMs, statementMs]);
      return row?.answer;
    };

    it("ends sessions of tools, workers and the API, and no other's", { timeout: 60_000 }, async () => {
      const turn = await fx.suspended();
      const id = turn.calls[0]?.tool_call_id;
      const reader = await fx.store.another({ user: login("worker") });
      const spared = [
        await keepOpen(databaseOf("kernel"), (tx) => tx.query("update state.workers set info = info")),
        await keepOpen(fx.store.database, (tx) => tx.query("create table public.made_meanwhile (a int)")),
        await keepOpen(reader, (tx) => tx.query("select 1 from state.calls")), // locks nothing
      ];
      const ended = [
        await keepCalls([turn]),
        await keepOpen(databaseOf("worker"), (tx) => tx.query("lock table state.inbox in exclusive mode")),
        await keepOpen(databaseOf("api"), (tx) => tx.query("update resource.projects set title = 'x'")),
      ];
      expect((await watch(60_000, 60_000))?.ended).toEqual([]); // none is that old
      const answer = await watch(1, 60_000);
      expect(answer).toMatchObject({ may: true, needed: true });
      expect(answer?.ended?.map((each) => each.login).sort()).toEqual([login("api"), login("tool"), login("worker")]);
      for (const each of ended) await expect(each.release()).rejects.toThrow();
      for (const each of spared) await each.release();
      expect(id).toBeDefined();
    });

    it("spares the owner of the schema who also works with it, and sessions in other databases", {
      timeout: 60_000,
    }, async () => {
      const owner = login("owning");
      await fx.store.database.script(
        `create role ${owner} login in role tessera_worker; alter schema l0 owner to ${owner}`,
      );
      const place = new URL(fx.store.url ?? "");
      place.username = login("worker");
      place.pathname = "/postgres";
      const elsewhere = await openPostgres({ url: place.href, poolMax: 1 });
      const migrator = await fx.store.another({ user: owner, poolMax: 1 });
      try {
        const spared = [
          await keepOpen(migrator, (tx) => tx.query("update state.workers set info = info")),
          await keepOpen(elsewhere, (tx) => tx.query("select pg_current_xact_id()")),
        ];
        expect((await watch(1, 1))?.ended).toEqual([]);
        for (const each of spared) await each.release();
      } finally {
        await elsewhere.close();
        await migrator.close();
        await fx.store.database.script(
          `alter schema l0 owner to current_user; drop owned by ${owner}; drop role ${owner}`,
        );
      }
    });

    it.each([
      ["worker", false],
      ["api_ro", true],
    ])(
      "ends a statement of a tool's login that is also of tessera_%s as a tool's: %s",
      { timeout: 60_000 },
      async (role, isTool) => {
        const mixed = login(`mixed_${role}`);
        await fx.store.database.script(`create role ${mixed} login in role tessera_tool, tessera_${role}`);
        const session = await fx.store.another({ user: mixed, poolMax: 1 });
        const slow = session
          .query("do $$ begin perform pg_current_xact_id(); perform pg_sleep(20); end $$")
          .then(String, String);
        const asleep = `select 1 from pg_stat_activity where usename = '${mixed}' and wait_event = 'PgSleep'`;
        await waitFor(async () => (await fx.query(asleep)).length === 1, { what: "it to be asleep" });
        expect((await watch(1, 60_000))?.ended).toHaveLength(isTool ? 1 : 0);
        if (!isTool) expect((await watch(1, 1))?.ended?.map((each) => each.login)).toEqual([mixed]);
        expect(await slow).toContain("DatabaseError");
        await session.close();
        await fx.store.database.script(`drop role ${mixed}`);
      },
    );

    it("ends a session that holds up the server's queue of notifications, also a reader, and none while it is nearly empty", {
      timeout: 60_000,
    }, async () => {
      const listener = await fx.store.another({ user: login("api_ro"), poolMax: 1 });
      const idle = await keepOpen(listener, async (tx) => {
        await tx.query("listen anything");
        await tx.query("commit"); // listens from here on
        await tx.query("begin");
        await tx.query("select 1 from state.calls");
      });
      const spared = await keepOpen(databaseOf("kernel"), (tx) => tx.query("select 1 from state.calls"));
      const usage = async () =>
        (await fx.query<{ usage: number }>("select pg_notification_queue_usage() as usage"))[0]?.usage ?? 0;
      await databaseOf("tool").query(
        "select count(pg_notify('anything', n || repeat('x', 7900))) from generate_series(1, 200) n",
      );
      const taken = await usage();
      expect(taken).toBeGreaterThan(0);
      expect((await watch(1, 60_000))?.ended).toEqual([]);
      const answer = await databaseOf("kernel").query<{ answer: { ended: { login: string }[] } }>(
        "select l0.end_holders(1, 60000, $1) as answer",
        [taken / 2],
      );
      expect(answer[0]?.answer.ended.map((each) => each.login)).toEqual([login("api_ro")]);
      await expect(idle.release()).rejects.toThrow();
      await spared.release();
      await waitFor(
        async () => {
          await databaseOf("tool").query("select pg_notify('anything', '')"); // who sends takes away what all have read
          return (await usage()) < taken;
        },
        { what: "the queue to be emptied" },
      );
    });

    it("ends a reader's transaction that another session waits behind for a table, and no other reader's", {
      timeout: 60_000,
    }, async () => {
      const reader = () => fx.store.another({ user: login("api_ro"), poolMax: 1 });
      const [first, second] = [await reader(), await reader()];
      const kept = await keepOpen(first, (tx) => tx.query("select 1 from state.trace_budgets"));
      const spared = await keepOpen(second, (tx) => tx.query("select 1 from state.events"));
      const changing = fx.store.database.transaction(async (tx) => {
        await tx.query("lock table state.trace_budgets in access exclusive mode");
      });
      const ended = await waitFor(
        async () => {
          const logins = (await watch(60_000, 60_000))?.ended?.map((each) => each.login) ?? [];
          return logins.length > 0 && logins;
        },
        { what: "the reader's session to be ended" },
      );
      expect(ended).toEqual([login("api_ro")]);
      await changing;
      await expect(kept.release()).rejects.toThrow();
      await spared.release();
      for (const each of [first, second]) await each.close();
    });

    it("ends a tool's transaction that wrote nothing when it is older than a statement may be: it keeps dead rows from being removed", {
      timeout: 60_000,
    }, async () => {
      const idle = (role: "tool" | "worker" | "api_ro") =>
        keepOpen(databaseOf(role), async (tx) => {
          await tx.query("set transaction isolation level repeatable read");
          await tx.query("select 1");
        });
      const [old, ...spared] = [await idle("tool"), await idle("worker"), await idle("api_ro")];
      const [pinned] = await fx.query("select backend_xmin is not null as there from pg_stat_activity where pid = $1", [
        old.pid,
      ]);
      expect(pinned?.there).toBe(true);
      expect((await watch(1, 60_000))?.ended).toEqual([]);
      expect((await watch(1, 1))?.ended?.map((each) => each.login)).toEqual([login("tool")]);
      await expect(old.release()).rejects.toThrow();
      for (const each of spared) await each.release();
    });

    it("lets a worker's statement run for its time, and a tool's for that of a transaction", {
      timeout: 60_000,
    }, async () => {
      const [turn, other] = [await fx.suspended(), await fx.suspended()];
      const sleeping = (role: "tool" | "worker", statement: string) =>
        databaseOf(role).query(`do $$ begin ${statement}; perform pg_sleep(20); end $$`).then(String, String);
      const item = (of: Suspended) =>
        JSON.stringify([
          {
            project_id: PROJECT,
            tool_call_id: of.calls[0]?.tool_call_id,
            ticket: of.calls[0]?.ticket,
            executor: "e",
            claim_id: "c",
          },
        ]);
      const tool = sleeping("tool", `perform l0.open_call('${item(turn)}')`);
      const worker = sleeping(
        "worker",
        `perform 1 from state.calls where tool_call_id = '${other.calls[0]?.tool_call_id}' for no key update`,
      );
      const asleep = "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'";
      await waitFor(async () => (await fx.query(asleep)).length === 2, { what: "both to be asleep" });
      expect((await watch(1, 60_000))?.ended?.map((each) => each.login)).toEqual([login("tool")]);
      const atWork = "select 1 from pg_stat_activity where usename = $1 and xact_start is not null";
      await waitFor(async () => (await fx.query(atWork, [login("tool")])).length === 0, {
        what: "the tool's session to be gone",
      });
      expect((await watch(1, 1))?.ended?.map((each) => each.login)).toEqual([login("worker")]);
      expect(await tool).toContain("DatabaseError");
      expect(await worker).toContain("DatabaseError");
    });

    it("says that it may not where the owner of l0 lacks the right, and deploy/roles.sql grants it", async () => {
      const owner = login("owner");
      const functions = [
        "l0.end_holders(integer, integer, double precision, integer)",
        "l0.watched_logins()",
        "l0.watches_holders()",
      ];
      const giveTo = (role: string) =>
        fx.store.database.script(
          [
            `alter schema l0 owner to ${role}`,
            ...functions.map((name) => `alter function ${name} owner to ${role}`),
          ].join(";"),
        );
      await fx.store.database.script(`create role ${owner}`);
      try {
        await giveTo(owner);
        expect(await watch(1, 1)).toEqual({ may: false, needed: true });
        await fx.store.database.script(rolesSql);
        expect(await watch(60_000, 60_000)).toMatchObject({ may: true });
      } finally {
        await giveTo("current_user");
        await fx.store.database.script(`drop owned by ${owner}; drop role ${owner}`);
      }
    });
  });
} else {
  it("an engine with one session has no second session to wait, and no watchdog", async () => {
    expect(fx.store.database.capabilities.roles).toBe(false);
    expect(await fx.kernel.sweep()).toMatchObject({ skipped: 0, endedSessions: 0 });
  });
}
