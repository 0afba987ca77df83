// `tessera run` on PostgreSQL and NATS, with a server of its own: the example delivers the same as on an embedded store.

import { join } from "node:path";
import { type NatsServer, type PostgresServer, startNats, startPostgres } from "@tessera/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { ROOT, runTessera } from "./run-tessera.ts";

const SLOW_MS = 120_000;
const SWARM = join(ROOT, "examples/swarm");
let postgres: PostgresServer;
let nats: NatsServer;
beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
});
afterAll(async () => {
  await Promise.all([postgres.stop("fast"), nats.stop()]);
});

it(
  "delivers, leaves nothing open, and waits for others' turns only with --resume",
  async () => {
    const store = ["--postgres", postgres.url];
    const bus = ["--nats", nats.url];
    expect((await runHere(["migrate", ...store])).exitCode).toBe(0);
    const ran = await runTessera(["run", SWARM, "--input", "tea", ...store, ...bus]);
    expect(ran.exitCode, ran.err).toBe(0);
    expect(ran.out).toBe(
      "Report on tea\n- What I found on the history of tea.\n- What I found on the future of tea.\n",
    );
    const waiting = await runHere(["run", SWARM, "--input", "tea, slowly", "--wait", "0", ...store, ...bus]);
    expect(waiting, waiting.err).toMatchObject({ exitCode: 6, out: "" });
    expect(waiting.err).toMatch(/--resume --postgres \S*postgres\S*:\/\/\S+ --nats \S*nats:\/\/\S+\n/);
    expect(waiting.err).not.toMatch(/:\/\/[^\s/]*:[^\s/]*@/); // no password
    const other = await runHere(["run", SWARM, "--input", "tea", "--instance", "other", ...store, ...bus]);
    expect(other.exitCode, other.err).toBe(0);
    expect(other.err).not.toContain("left open");
    const resumed = await runHere(["run", SWARM, "--resume", ...store, ...bus, "--json"]);
    expect(resumed.exitCode, resumed.out).toBe(0);
    const answer = JSON.parse(resumed.out.trimEnd().split("\n").at(-1) ?? "null");
    // Every worker works on what is open: the run in between may have finished it.
    expect(answer).toMatchObject({ ok: true, status: expect.stringMatching(/^success$|^nothing_left_open$/) });
    const verified = await runHere(["verify", ...store, "--drained"]);
    expect(verified.exitCode, verified.out).toBe(0);
  },
  SLOW_MS,
);
