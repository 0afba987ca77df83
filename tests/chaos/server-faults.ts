// Faults of the servers: the broker restarted in order, by kill -9 and without its store, or stopped for a while; a stream or a
// durable deleted; the database restarted at once or by kill -9, its backends ended.

import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { PostgresServer } from "../../packages/testkit/src/servers/postgres-server.ts";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import type { LocalNats } from "../../scripts/topology/local-nats.ts";
import { isAlive, isStopped } from "../crash/process-state.ts";
import { type ChaosWorld, LEASE_MS } from "./chaos-world.ts";
import { type Fault, prove } from "./fault.ts";

/** A stream that was deleted is made again within this by a process that may. */
const STREAM_AWAY_MS = 30_000;
const STREAM = "cg_cmd_v1r4";
const RETURN_MS_MAX = 60_000;
const PAUSE_MS = 2 * LEASE_MS;

export const SERVER_FAULTS: readonly Fault[] = [
  brokerRestart("broker.restart", {}),
  brokerRestart("broker.kill", { signal: "SIGKILL" }),
  brokerRestart("broker.wipe", { wipe: true }),
  {
    kind: "broker.pause",
    strike: async ({ world }) => {
      const { nats } = world.topology;
      const before = await waitForStream(world);
      nats.pause();
      try {
        await waitFor(() => isStopped(nats.pid), { what: "the fault did not happen: the broker to stop" });
        await delay(PAUSE_MS);
        prove(isStopped(nats.pid), "the broker went on before its time");
      } finally {
        nats.resume();
      }
      const after = await waitForStream(world);
      prove(after.server === before.server, "another server answers");
      return `for ${PAUSE_MS} ms`;
    },
  },
  {
    kind: "broker.delete_stream",
    strike: async ({ world, measures }) => {
      await waitForStream(world);
      measures.disturbedFor(STREAM_AWAY_MS);
      await asOperator(world, async (nc) => {
        const jsm = await jetstreamManager(nc);
        prove(await jsm.streams.delete(STREAM), "the stream was not deleted");
      });
      return STREAM; // a process that may make it again will; until then work is looked for
    },
  },
  {
    kind: "broker.delete_consumer",
    strike: async ({ world, pick }) => {
      await waitForStream(world);
      const name = await asOperator(world, async (nc) => {
        const jsm = await jetstreamManager(nc);
        const durables = (await jsm.consumers.list(STREAM).next()).map((each) => each.name);
        const durable = pick(durables.toSorted());
        prove(durable !== undefined && (await jsm.consumers.delete(STREAM, durable)), `${durable} was not deleted`);
        return durable;
      });
      const isBack = () =>
        asOperator(world, async (nc) => await (await jetstreamManager(nc)).consumers.info(STREAM, name));
      await waitFor(isBack, { what: `${name} to be made again`, timeoutMs: RETURN_MS_MAX, intervalMs: 100 });
      return name;
    },
  },
  databaseRestart("database.restart", (server) => server.restart("immediate")),
  databaseRestart("database.kill", async (server) => {
    const { pid } = server;
    await server.killPostmaster();
    prove(!isAlive(pid), `the postmaster ${pid} is alive`);
    await server.start(); // when the last of its backends is gone
  }),
  {
    kind: "database.terminate_backends",
    strike: async ({ world }) => {
      const [row] = await world.database.query<{ pids: number[] | null }>(
        `select array_agg(pid) filter (where pg_terminate_backend(pid)) as pids from pg_stat_activity
          where backend_type = 'client backend' and datname = current_database() and usename <> current_user`,
      );
      const pids = row?.pids ?? [];
      prove(pids.length > 0, "there was no backend to end");
      const gone = async () => {
        const [left] = await world.database.query<{ left: number }>(
          "select count(*)::int as left from pg_stat_activity where pid = any($1)",
          [pids],
        );
        return left?.left === 0;
      };
      await waitFor(gone, { what: "the fault did not happen: the backends to be gone", timeoutMs: RETURN_MS_MAX });
      return `${pids.length} backends`;
    },
  },
];

function brokerRestart(kind: string, how: Parameters<LocalNats["restart"]>[0] & object): Fault {
  return {
    kind,
    strike: async ({ world, measures }) => {
      const before = await waitForStream(world);
      const { pid } = world.topology.nats;
      await world.topology.nats.restart(how);
      const watch = await measures.brokerReturned();
      prove(!isAlive(pid), `the broker ${pid} is alive`);
      const after = await waitForStream(world);
      prove(after.server !== before.server, "the same server answers");
      if (how.wipe) prove(after.created !== before.created, "the stream outlived the store");
      else prove(after.created === before.created, "the stream was lost with a restart that keeps it");
      return await watch();
    },
  };
}

function databaseRestart(kind: string, restart: (server: PostgresServer) => Promise<void>): Fault {
  return {
    kind,
    strike: async ({ world }) => {
      const before = await postmasterStart(world);
      await restart(world.topology.postgres.server);
      const after = await waitFor(() => postmasterStart(world), {
        what: "the database to answer",
        timeoutMs: RETURN_MS_MAX,
      });
      prove(after !== before, "the postmaster is the old one");
      return "postgres";
    },
  };
}

interface StreamSeen {
  /** Another one after every start. */
  readonly server: string;
  readonly created: string;
}

async function lookAtStream(nc: NatsConnection): Promise<StreamSeen> {
  const { created } = await (await jetstreamManager(nc)).streams.info(STREAM);
  return { server: nc.info?.server_id ?? "", created };
}

async function waitForStream(world: ChaosWorld): Promise<StreamSeen> {
  return await waitFor(() => asOperator(world, lookAtStream), {
    what: "the stream to be made again",
    timeoutMs: RETURN_MS_MAX,
    intervalMs: 100,
  });
}

/** Past every link. */
async function asOperator<T>(world: ChaosWorld, work: (nc: NatsConnection) => Promise<T>): Promise<T> {
  const url = new URL(world.topology.nats.urlOf("operator"));
  const nc = await connect({
    servers: url.host,
    user: url.username,
    pass: url.password,
    inboxPrefix: "_INBOX_operator",
    reconnect: false,
  });
  try {
    return await work(nc);
  } finally {
    await nc.close();
  }
}

async function postmasterStart(world: ChaosWorld): Promise<string> {
  const [row] = await world.database.query<{ at: string }>("select pg_postmaster_start_time()::text as at");
  return row?.at ?? "";
}
