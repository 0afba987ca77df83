// The processes of a run: workers, tool services, PMOs and sweepers, each with a kernel client of its own over its own ports.
//
//   C1. A process that dies is replaced by a new process of the same role after a while; one whose start fails counts as dead.
//   C2. Nothing is shared between processes but the store, the broker and the world outside.

import { createAgentRuntime, startAgentWorker } from "@tessera/agent";
import { createToolRunner, startToolService } from "@tessera/executor";
import { type Database, type Ids, type Kernel, openKernel, startSweeper } from "@tessera/kernel";
import { startPmo } from "@tessera/pmo";
import { type SimBroker, SimProcess, type SimWorld, simDatabase } from "@tessera/testkit/sim";
import type { ToolRunner } from "@tessera/tool";
import type { LosableStore, Lost } from "./lost-tail.ts";
import { mayStrike } from "./nemesis.ts";
import { noteWork, type RequestWatch } from "./request-watch.ts";
import { simModel } from "./sim-model.ts";
import { SERVICE_TARGET, simTools, type ToolWorld } from "./sim-tools.ts";

const ROLES = ["worker", "service", "pmo", "sweeper"] as const;
export type Role = (typeof ROLES)[number];

export interface Pauses {
  /** Those that are paused, and since when. */
  readonly sinceMs: Map<SimProcess, number>;
  /** When turns of a lost worker were last freed for others. */
  recoveredAtMs: number;
}

export interface CastWorld extends SimWorld, ToolWorld {
  readonly store: Database;
  readonly tail: Pick<LosableStore, "isOpen" | "begin" | "lose">;
  readonly onLost: (lost: Lost) => void;
  readonly broker: SimBroker;
  readonly ids: Ids;
  readonly looksEveryMs: number;
  readonly pauses: Pauses;
  readonly requests: RequestWatch;
}

const RESTART_MS = [50, 40_000] as const;
const RATES = [0.5, 0.9, 1.1, 2] as const;
/** How often a process looks for what it has not heard of, drawn per seed. */
export const LOOKS_EVERY_MS = [1_000, 4_000, 6_000, 9_000] as const;
const STOP_GRACE_MS = 2_000;
const TURNS_AT_ONCE = 4;

interface Service {
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

export class Cast {
  readonly #world: CastWorld;
  readonly #processes = new Set<SimProcess>();
  readonly #services = new Map<SimProcess, Service>();
  #count = 0;

  constructor(world: CastWorld) {
    this.#world = world;
  }

  /** Those that are not dead. */
  get processes(): readonly SimProcess[] {
    return [...this.#processes];
  }

  /** A process without code; `role` is for the log and for faults. */
  create(role: Role | "client"): { process: SimProcess; kernel: Kernel } {
    const { scheduler, faults, random, looksEveryMs } = this.#world;
    const rate = faults.hits("clock.skew") ? random.pick(RATES) : 1;
    const process = new SimProcess(scheduler, {
      name: `${role}${this.#count++}`,
      role,
      rate,
      looksEveryMs,
      ...(role === "client"
        ? {}
        : { beforeEvent: (self: SimProcess, label: string) => mayStrike(this.#world, this, self, label) }),
    });
    if (role !== "client") this.#processes.add(process);
    process.onKill(() => {
      this.#processes.delete(process);
      this.#services.delete(process);
    });
    return { process, kernel: this.#kernelOf(process) };
  }

  start(role: Role): void {
    const { process, kernel } = this.create(role);
    process.onKill(() => this.#startAgain(role)); // C1
    this.#run(role, process, kernel).then(
      (service) => void this.#services.set(process, service),
      (error: unknown) => {
        this.#world.log.add(`  ${process.name} did not start: ${String(error)}`);
        process.kill();
      },
    );
  }

  /** Asks a process to end, as a rolling upgrade does; it ends when it has let go. False: it has not begun, or was asked. */
  stop(process: SimProcess): boolean {
    const service = this.#services.get(process);
    if (service === undefined) return false;
    this.#services.delete(process);
    this.#world.log.add(`  ${process.name} is asked to stop`);
    const end = () => process.kill();
    service.stop({ graceMs: STOP_GRACE_MS }).then(end, end);
    return true;
  }

  #startAgain(role: Role): void {
    const { scheduler, random, faults } = this.#world;
    const delayMs = faults.isHealed ? RESTART_MS[0] : random.between(...RESTART_MS);
    scheduler.schedule(null, delayMs, `start ${role}`, () => this.start(role));
  }

  #kernelOf(process: SimProcess): Kernel {
    const { store, broker, ids } = this.#world;
    return openKernel({
      database: simDatabase(this.#world, store, process),
      bus: broker.busOf(process),
      clock: process.clock,
      ids,
    });
  }

  async #run(role: Role, process: SimProcess, kernel: Kernel): Promise<Service> {
    const { broker, ids } = this.#world;
    const { clock, name } = process;
    const parts = { bus: broker.busOf(process), kernel, clock, ids };
    switch (role) {
      case "worker": {
        const models = simModel(this.#world, process);
        const hosting = { runner: this.#runnerOf(process), isHosted: isLocal };
        const work = { concurrencyMax: TURNS_AT_ONCE, whileAtWork: noteWork };
        return await startAgentWorker({ ...parts, models, ...hosting, ...work });
      }
      case "service":
        return await startToolService({
          ...parts,
          target: SERVICE_TARGET,
          runner: this.#runnerOf(process),
          executor: name,
          runtimeFor: (caller) => createAgentRuntime({ kernel, clock, caller }),
        });
      case "pmo":
        return await startPmo({ ...parts, executor: name });
      case "sweeper":
        return startSweeper({
          sweep: kernel.sweep,
          clock,
          onWarning: () => undefined,
        });
    }
  }

  #runnerOf(process: SimProcess): ToolRunner {
    const tools = new Map(simTools(this.#world, process).map((tool) => [tool.name, tool]));
    const refuse = () => Promise.reject(new Error("no tool of the simulation is isolated"));
    return createToolRunner({
      resolve: ({ tool_name }) => tools.get(tool_name) ?? null,
      isolated: {
        run: refuse,
        inspect: refuse,
        use: () => undefined,
        drop: () => undefined,
        children: () => 0,
        close: async () => undefined,
      },
      workspaces: { root: "/sim", workdirOf: () => "/sim" },
      environment: { env: {} },
      clock: process.clock,
      onWarning: () => undefined,
    });
  }
}

function isLocal(toolName: string): boolean {
  return toolName.startsWith("inline__");
}
