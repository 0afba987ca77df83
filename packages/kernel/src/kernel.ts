// The kernel: the typed client of l0, composed over its ports. Every durable transition goes through here or straight
// into the same SQL functions; nothing else writes.

import { type Announcer, createAnnouncer } from "./announcer.ts";
import { type ApiKeyPort, createApiKeyPort } from "./api-key-port.ts";
import { type BatchPort, createBatchPort } from "./batch-port.ts";
import { Slots } from "./batcher.ts";
import { createExecutorPort, type ExecutorPort } from "./executor-port.ts";
import { commandMessage, wakeMessage } from "./messages.ts";
import type { Command, Wake } from "./outcomes.ts";
import type { Bus, BusMessage, Clock, Database, Ids, KillPoints } from "./ports.ts";
import { createProfilePort, type ProfilePort } from "./profile-port.ts";
import { createProjectPort, type ProjectPort } from "./project-port.ts";
import { createReads, type Reads } from "./reads.ts";
import { createRegistryPort, type RegistryPort } from "./registry-port.ts";
import { createStateReads, type StateReads } from "./state-reads.ts";
import { createSweep, type Sweep } from "./sweeper.ts";
import { moment, runOnce } from "./transitions.ts";
import { createTurnPort, type TurnPort } from "./turn-port.ts";
import type { WorkRole } from "./work-source.ts";

export interface KernelOptions {
  readonly database: Database;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly killPoints?: KillPoints;
  readonly onWarning?: (warning: string) => void;
}

export interface Kernel extends TurnPort, ExecutorPort, RegistryPort, ProjectPort, BatchPort, ApiKeyPort, ProfilePort {
  readonly reads: Reads & StateReads;
  readonly announcer: Announcer;
  /** One round of the sweeper, now. */
  readonly sweep: Sweep;
  /** What was rung again and still waits for a target, as the messages that were lost. Changes nothing. `alsoUnrung`: what
   *  was not rung again yet, too, because no first ring was heard either. */
  overdueMessages(role: WorkRole, options?: { readonly alsoUnrung?: boolean }): Promise<BusMessage[]>;
  /** Ends every lease in a store that nobody else can hold (docs/design.md#one-dialect-two-engines). */
  freeLeases(): Promise<{ workers: number; calls: number }>;
}

/** Messages that one look answers; the next look sees the rest. */
const OVERDUE_MAX = 200;
const inert: KillPoints = { at: () => undefined };

export function openKernel(options: KernelOptions): Kernel {
  const { database, bus, clock, ids, killPoints = inert, onWarning = () => undefined } = options;
  const announcer = createAnnouncer({ bus, ids, killPoints, onWarning });
  const slots = new Slots(database.capabilities.batchesInFlight, clock);
  const world = { database, clock, ids, killPoints, announcer, slots };
  return {
    ...createTurnPort(world),
    ...createExecutorPort(world),
    ...createRegistryPort(world),
    ...createProjectPort(world),
    ...createBatchPort(world),
    ...createApiKeyPort(world),
    ...createProfilePort(world),
    reads: { ...createReads(database, clock), ...createStateReads(database) },
    announcer,
    sweep: createSweep({ ...world, bus, onWarning }),
    async overdueMessages(role, { alsoUnrung = false } = {}) {
      const values = [
        "worker_target" in role ? role.worker_target : null,
        "tool_target" in role ? role.tool_target : null,
        role.project ?? null,
        OVERDUE_MAX,
        alsoUnrung,
        moment(clock),
      ];
      const answer = await runOnce<{ wakes: Wake[]; commands: Command[] }>(world, "overdue_rings", values);
      return [...answer.commands.map(commandMessage), ...answer.wakes.map((wake) => wakeMessage(wake, ids.spanId()))];
    },
    freeLeases: () => runOnce(world, "free_leases", [moment(clock)]),
  };
}
