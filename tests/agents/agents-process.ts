// A process of a swarm that a test can kill: any of the roles worker, pmo and tools, on PostgreSQL and NATS.
//
// Prints one JSON line per event on stdout: `worker` with each name it takes turns under, and `ready`. TESSERA_KILL_AT
// ends it by SIGKILL at one of the kernel's kill points (@tessera/testkit/kill-points).

import { openKernel } from "@tessera/kernel";
import { openAgents, openNode, openToolHost } from "@tessera/runtime";
import { killPointsFromEnvironment } from "@tessera/testkit/kill-points";

export type ProcessRole = "worker" | "pmo" | "tools";

export interface AgentsOrder {
  readonly postgres: string;
  readonly nats: string;
  readonly project: string;
  readonly bundle: string;
  readonly roles: readonly ProcessRole[];
  readonly leaseMs: number;
  readonly concurrencyMax?: number;
  readonly sweep?: boolean;
}

export interface ProcessMessage {
  readonly event?: "ready" | "worker";
  readonly worker_id?: string;
}

const order = JSON.parse(process.argv[2] ?? "{}") as AgentsOrder;
const say = (message: ProcessMessage) => process.stdout.write(`${JSON.stringify(message)}\n`);
const onWarning = (warning: string) => process.stderr.write(`${warning}\n`);

const { project, bundle, roles, leaseMs } = order;
const opened = await openNode({
  postgres: order.postgres,
  nats: order.nats,
  sweepIntervalMs: 200,
  ...(order.sweep === undefined ? {} : { sweep: order.sweep }),
  onWarning,
  onFatal: (error) => onWarning(error.message),
});
const { store, bus, clock, ids } = opened;
const kernel = openKernel({
  database: store.database,
  bus,
  clock,
  ids,
  killPoints: killPointsFromEnvironment(),
  onWarning,
});
const renewWorker: typeof kernel.renewWorker = (item) => {
  say({ event: "worker", worker_id: item.worker_id });
  return kernel.renewWorker(item);
};
const node = { ...opened, kernel: { ...kernel, renewWorker } };
const host = await openToolHost({
  node,
  project,
  bundle,
  leaseMs,
  env: process.env,
  executor: `host-${process.pid}`,
  openApiTargets: [],
  serve: roles.includes("tools"),
  onWarning,
});
const agents = await openAgents({
  node,
  host,
  project,
  env: process.env,
  roles: roles.filter((role) => role !== "tools"),
  leaseMs,
  ...(order.concurrencyMax === undefined ? {} : { concurrencyMax: order.concurrencyMax }),
  onWarning,
});
say({ event: "ready" });
process.once("SIGTERM", async () => {
  await agents.close({ graceMs: 1_000 });
  await host.close({ graceMs: 100 });
  await kernel.announcer.settled();
  await opened.close();
});
