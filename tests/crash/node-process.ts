// A process of a cluster, to be killed: it runs the roles it is told, on the store it is told, until SIGTERM.
//
// The first argument is a `NodeConfig` as JSON. It prints what happens as JSON lines: `ready`, the events of its worker
// and tools, `drained` when every planned turn has ended. TESSERA_KILL_AT ends it at a kill point.
// Nothing here may import Vitest.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import { openNatsBus } from "@tessera/engines/nats";
import { openPglite } from "@tessera/engines/pglite";
import { openPostgres } from "@tessera/engines/postgres";
import { openPostgresBus } from "@tessera/engines/postgres-bus";
import { systemClock, systemIds } from "@tessera/engines/system";
import {
  type Bus,
  type Clock,
  type Database,
  type Kernel,
  type KillPoints,
  migrate,
  openKernel,
  startSweeper,
} from "@tessera/kernel";
import { killPointsFromEnvironment } from "@tessera/testkit/kill-points";
import { FileLedger } from "../scenarios/effect-ledger.ts";
import { ScaledClock, type ScaledClockOptions } from "../scenarios/scaled-clock.ts";
import { ScriptedTool, type ToolEvent } from "../scenarios/scripted-tool.ts";
import { ScriptedWorker, type WorkerEvent } from "../scenarios/scripted-worker.ts";
import { callIdsOf, enqueuePlanned, type PlannedTurn, registerAgents } from "../scenarios/turn-plan.ts";

export type StoreAddress =
  | { readonly engine: "pglite"; readonly directory: string }
  /** Without NATS the processes meet over LISTEN/NOTIFY. */
  | { readonly engine: "postgres"; readonly url: string; readonly natsUrl?: string };

export type Role = "client" | "worker" | "tools" | "sweeper";

export interface NodeConfig {
  readonly name: string;
  readonly store: StoreAddress;
  readonly roles: readonly Role[];
  readonly project: string;
  /** File of the effect ledger. */
  readonly ledger: string;
  readonly targets: readonly string[];
  /** What the client asks for. */
  readonly turns: readonly PlannedTurn[];
  /** Turns that the client stops as soon as one of their calls is being worked on here. */
  readonly stops?: readonly string[];
  readonly leaseMs: number;
  readonly sweepMs: number;
  /** Instead of the database's own clock, e.g. ahead of it, so that what was due by then is due at once. */
  readonly time?: ScaledClockOptions;
  /** How long the worker thinks before it writes. */
  readonly thinkMs?: number;
}

export type NodeMessage =
  | { readonly event: "ready" | "enqueued" | "thinking" | "drained" | "stopped" }
  | { readonly event: "freed"; readonly workers: number; readonly calls: number }
  /** `ms` after it began to open the store. */
  | { readonly event: "failed"; readonly message: string; readonly name: string; readonly ms: number }
  | WorkerEvent
  | ToolEvent;

const DRAINED_ASK_MS = 50;
const CLIENT_RETRY_MS = 200;

const config = JSON.parse(process.argv[2] ?? "") as NodeConfig;
const clock: Clock = config.time === undefined ? systemClock : new ScaledClock(config.time);
const killPoints: KillPoints = killPointsFromEnvironment();
const begun = performance.now();
const closers: (() => Promise<void>)[] = [];

function say(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

async function openStore(): Promise<{ database: Database; bus: Bus }> {
  const { store } = config;
  if (store.engine === "pglite") {
    const database = await openPglite({
      directory: store.directory,
      onFatal: (error) => process.stderr.write(`${error}\n`, () => process.exit(70)),
    });
    return { database, bus: await openMemoryBus() };
  }
  const database = await openPostgres({ url: store.url, poolMax: 4, applicationName: config.name });
  const bus =
    store.natsUrl === undefined
      ? await openPostgresBus({ url: store.url })
      : await openNatsBus({ servers: store.natsUrl });
  return { database, bus };
}

async function startRoles(kernel: Kernel, bus: Bus): Promise<void> {
  const { roles, project, targets, leaseMs, thinkMs, stops = [] } = config;
  const shared = { kernel, bus, clock, project, leaseMs, ledger: new FileLedger(config.ledger) };
  const stopped = new Set(config.turns.filter((turn) => stops.includes(turn.agent_turn_id)).flatMap(callIdsOf));
  if (roles.includes("tools")) {
    for (const target of targets) {
      const tool = new ScriptedTool({
        ...shared,
        target,
        executor: `${config.name}-${target}`,
        onEvent: (event) => {
          say(event);
          if (event.event === "working" && stopped.has(event.tool_call_id)) void stopTurnOf(kernel, event.tool_call_id);
        },
      });
      await tool.start();
      closers.push(() => tool.stop());
    }
  }
  if (roles.includes("worker")) {
    const think = async () => {
      say({ event: "thinking" });
      await new Promise<void>((resolve) => clock.after(thinkMs ?? 0, resolve));
    };
    const worker = new ScriptedWorker({
      ...shared,
      ids: systemIds,
      onEvent: say,
      ...(thinkMs === undefined ? {} : { think }),
    });
    await worker.start();
    closers.push(() => worker.stop());
  }
  if (roles.includes("sweeper")) {
    const sweeper = startSweeper({
      sweep: kernel.sweep,
      clock,
      intervalMs: config.sweepMs,
      onWarning: (warning) => console.error(warning),
    });
    closers.push(() => sweeper.stop());
  }
}

async function stopTurnOf(kernel: Kernel, toolCallId: string): Promise<void> {
  const turn = config.turns.find((planned) => callIdsOf(planned).includes(toolCallId));
  if (turn === undefined) return;
  await kernel.stopTurn({ project_id: config.project, agent_turn_id: turn.agent_turn_id, reason: "the test stops it" });
}

/** Asks for every turn, again when the database was away, and says when all have ended. */
async function runClient(kernel: Kernel, database: Database): Promise<void> {
  await untilDone(() =>
    registerAgents(kernel, config.project, [...new Set(config.turns.map((turn) => turn.agent_id))]),
  );
  for (const turn of config.turns.filter(({ isAsked }) => isAsked !== true))
    await untilDone(() => enqueuePlanned(kernel, config.project, turn));
  say({ event: "enqueued" });
  const ask = "select count(*)::int as ended from state.agent_turns where project_id = $1 and ended_at is not null";
  await untilDone(async () => {
    for (;;) {
      const rows = await database.query<{ ended: number }>(ask, [config.project]);
      if ((rows[0]?.ended ?? 0) >= config.turns.length) return;
      await pause(DRAINED_ASK_MS);
    }
  });
  say({ event: "drained" });
}

async function untilDone(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      console.error(`client: ${String(error)}; trying again`);
      await pause(CLIENT_RETRY_MS);
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function main(): Promise<void> {
  const { database, bus } = await openStore();
  await migrate(database, { killPoints });
  const kernel = openKernel({
    database,
    bus,
    clock,
    ids: systemIds,
    killPoints,
    onWarning: (warning) => console.error(warning),
  });
  // A directory has one process: whatever leases are in it belong to the dead (docs/design.md#one-dialect-two-engines).
  if (config.store.engine === "pglite") say({ event: "freed", ...(await kernel.freeLeases()) });
  await startRoles(kernel, bus);
  say({ event: "ready" });
  process.once("SIGTERM", async () => {
    for (const close of closers.reverse()) await close();
    await kernel.announcer.settled();
    await bus.close();
    await database.close();
    say({ event: "stopped" });
    process.exit(0);
  });
  if (config.roles.includes("client")) await runClient(kernel, database);
}

main().catch((error: unknown) => {
  const { name, message } = error instanceof Error ? error : { name: "Error", message: String(error) };
  say({ event: "failed", name, message, ms: performance.now() - begun });
  process.exitCode = 1;
});
