// Faults of the servers: the broker restarted with and without its store, a stream or a durable deleted, the database
// restarted at once, its backends ended.

import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { type Fault, prove } from "./fault.ts";

const STREAM = "cg_cmd_v1r4";
const RETURN_MS_MAX = 60_000;

export const SERVER_FAULTS: readonly Fault[] = [
  {
    kind: "broker.restart",
    strike: async ({ world, measures }) => {
      const before = await waitForStream(world);
      await world.topology.nats.restart();
      const watch = await measures.brokerReturned();
      const after = await waitForStream(world);
      prove(after.server !== before.server, "the same server answers");
      prove(after.created === before.created, "the stream was lost with a restart that keeps it");
      return await watch();
    },
  },
  {
    kind: "broker.wipe",
    strike: async ({ world, measures }) => {
      const before = await waitForStream(world);
      await world.topology.nats.restart({ wipe: true });
      const watch = await measures.brokerReturned();
      const after = await waitForStream(world);
      prove(after.server !== before.server, "the same server answers");
      prove(after.created !== before.created, "the stream outlived the store");
      return await watch();
    },
  },
  {
    kind: "broker.delete_stream",
    strike: async ({ world }) => {
      await waitForStream(world);
      await asOperator(world, async (nc) => {
        const jsm = await jetstreamManager(nc);
        prove(await jsm.streams.delete(STREAM), "the stream was not deleted");
      });
      return STREAM; // whoever may make it again will; until then work is looked for
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
  {
    kind: "database.restart",
    strike: async ({ world }) => {
      const before = await postmasterStart(world);
      await world.topology.postgres.server.restart("immediate");
      const after = await waitFor(() => postmasterStart(world), {
        what: "the database to answer",
        timeoutMs: RETURN_MS_MAX,
      });
      prove(after !== before, "the postmaster is the old one");
      return "postgres";
    },
  },
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
