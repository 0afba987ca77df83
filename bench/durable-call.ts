// The durable call, measured: an agent persists a call, a tool service in another process runs an echo, the result is
// persisted, the agent is woken and applies it once. Counts what each call costs the database.
//
//   node bench/durable-call.ts --postgres URL [--nats URL] [--seconds 6] [--effect once|read] [--json]
//
// Without --nats the two processes meet over LISTEN/NOTIFY.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import { openNatsBus } from "@tessera/engines/nats";
import { openPostgres } from "@tessera/engines/postgres";
import { openPostgresBus } from "@tessera/engines/postgres-bus";
import { systemClock, systemIds } from "@tessera/engines/system";
import { type Bus, type Effect, type Kernel, migrate, openKernel } from "@tessera/kernel";
import { readCost, withCost } from "./database-cost.ts";
import { figureOf, type Latencies, repeat } from "./measure.ts";

const { values: flags } = parseArgs({
  options: {
    postgres: { type: "string" },
    nats: { type: "string" },
    seconds: { type: "string", default: "6" },
    effect: { type: "string", default: "once" },
    concurrency: { type: "string", default: "1,64" },
    json: { type: "boolean", default: false },
    role: { type: "string", default: "agent" },
  },
});

const PROJECT = "bench";
const TARGET = "cg.v1r4.bench.public.cmd.tool.echo.run";
const AGENTS = 256;

async function openWorld(): Promise<{ kernel: Kernel; bus: Bus; close(): Promise<void> }> {
  const url = flags.postgres;
  if (url === undefined) throw new Error("--postgres URL is needed: a scratch database that this benchmark may fill");
  const database = await openPostgres({ url, poolMax: 4 });
  const bus = flags.nats === undefined ? await openPostgresBus({ url }) : await openNatsBus({ servers: flags.nats });
  await migrate(database);
  const kernel = openKernel({ database, bus, clock: systemClock, ids: systemIds, onWarning: console.error });
  return {
    kernel,
    bus,
    async close() {
      await bus.close();
      await database.close();
    },
  };
}

async function runToolService(): Promise<void> {
  const { kernel, bus } = await openWorld();
  await bus.subscribe(
    { pattern: "cg.v1r4.*.*.cmd.tool.echo.run", durable: "bench_echo", inFlightMax: 512 },
    async (delivery) => {
      const opened = await kernel.openCall({
        project_id: PROJECT,
        tool_call_id: delivery.headers["CG-Tool-Call-Id"] ?? "",
        ticket: delivery.headers["CG-Call-Ticket"] ?? "",
        executor: "bench-echo",
        principal: "tool.echo",
      });
      delivery.ack();
      if (opened.outcome === "rejected") return;
      await kernel.report({
        project_id: PROJECT,
        tool_call_id: opened.tool_call_id,
        capability: opened.capability,
        principal: "tool.echo",
        content: { status: "success", result: opened.arguments },
      });
    },
  );
  process.on("message", () => process.send?.(process.cpuUsage()));
  process.send?.("ready");
}

interface Figure extends Latencies {
  readonly name: string;
  readonly concurrency: number;
  readonly agent_cpu_us: number;
  readonly tool_cpu_us: number;
  readonly cost: Record<string, number>;
}

async function runAgent(): Promise<void> {
  const { kernel, bus, close } = await openWorld();
  const woken = new Map<string, () => void>();
  await bus.subscribe(
    { pattern: "cg.v1r4.*.*.cmd.agent.bench.wakeup", durable: "bench_worker", inFlightMax: 512 },
    (delivery) => {
      const agent = delivery.headers["CG-Agent-Id"] ?? "";
      woken.get(agent)?.();
      woken.delete(agent);
    },
  );
  const child = fork(import.meta.filename, [...process.argv.slice(2), "--role", "tool"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "message");
  const worker = systemIds.mint("worker");
  await kernel.renewWorker({ worker_id: worker, worker_target: "bench", lease_ms: 600_000 });
  const turns = await Promise.all(Array.from({ length: AGENTS }, (_, n) => startTurn(kernel, worker, n)));

  const figures: Figure[] = [];
  for (const concurrency of flags.concurrency.split(",").map(Number)) {
    const lane = async (turn: Turn) => {
      const started = performance.now();
      await roundTrip(kernel, worker, turn, woken);
      return performance.now() - started;
    };
    await repeat(turns.slice(0, concurrency), 1_000, lane);
    const seconds = Number(flags.seconds);
    const { result, cost } = await withCost(flags.postgres ?? "", async () => {
      const cpu = process.cpuUsage();
      const toolCpu = await cpuOf(child);
      const begin = performance.now();
      const latencies = await repeat(turns.slice(0, concurrency), seconds * 1_000, lane);
      const elapsed = performance.now() - begin;
      const spent = process.cpuUsage(cpu);
      const toolSpent = await cpuOf(child);
      return { latencies, elapsed, agentCpu: spent.user + spent.system, toolCpu: toolSpent - toolCpu };
    });
    const { latencies, elapsed } = result;
    figures.push({
      name: `tessera ${flags.nats === undefined ? "postgres" : "postgres + nats"} ${flags.effect}`,
      concurrency,
      ...figureOf(latencies, elapsed),
      agent_cpu_us: Math.round(result.agentCpu / latencies.length),
      tool_cpu_us: Math.round(result.toolCpu / latencies.length),
      cost: readCost(cost, latencies.length),
    });
  }
  if (flags.json) console.log(JSON.stringify(figures));
  else for (const figure of figures) console.log(figure.name, { ...figure, name: undefined });
  child.kill();
  await close();
}

interface Turn {
  readonly agent_id: string;
  readonly agent_turn_id: string;
  turn_epoch: number;
}

async function startTurn(kernel: Kernel, worker: string, n: number): Promise<Turn> {
  const agent_id = `bench_agent_${n}_${systemIds.spanId()}`;
  await kernel.putProject({ project_id: PROJECT });
  const box_id = systemIds.mint("box");
  await kernel.putBox({ project_id: PROJECT, box_id });
  await kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: "bench", profile_box_id: box_id });
  await kernel.enqueueTurn({ project_id: PROJECT, agent_id });
  const started = await kernel.resume({ project_id: PROJECT, agent_id, worker_id: worker });
  if (started.outcome !== "accepted") throw new Error(`cannot start ${agent_id}: ${JSON.stringify(started)}`);
  return { agent_id, agent_turn_id: started.agent_turn_id, turn_epoch: started.turn_epoch };
}

async function roundTrip(kernel: Kernel, worker: string, turn: Turn, woken: Map<string, () => void>): Promise<void> {
  const wakeup = new Promise<void>((resolve) => woken.set(turn.agent_id, resolve));
  const suspended = await kernel.suspendOnCalls({
    project_id: PROJECT,
    ...turn,
    step_id: systemIds.mint("step"),
    thought: { content: { text: "I will call echo" } },
    calls: [
      {
        tool_call_id: systemIds.mint("tc"),
        tool_name: "echo__run",
        arguments: { text: "hello world" },
        target_subject: TARGET,
        author_id: "tool.echo",
        effect: flags.effect as Effect,
      },
    ],
  });
  if (suspended.outcome === "rejected") throw new Error(`suspend: ${suspended.code}`);
  await wakeup;
  const resumed = await kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: worker });
  if (resumed.outcome !== "accepted" || resumed.results?.[0]?.status !== "success")
    throw new Error(`resume: ${JSON.stringify(resumed)}`);
  turn.turn_epoch = resumed.turn_epoch;
}

/** Microseconds of CPU that the tool service has used. */
async function cpuOf(child: ChildProcess): Promise<number> {
  child.send("cpu");
  const [usage] = (await once(child, "message")) as [NodeJS.CpuUsage];
  return usage.user + usage.system;
}

await (flags.role === "tool" ? runToolService() : runAgent());
