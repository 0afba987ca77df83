// The kernel: the typed client of l0, composed over its ports. Every durable transition goes through here or straight
// into the same SQL functions; nothing else writes.

import { Slots } from "./batching/batcher.ts";
import { moment, runOnce } from "./batching/transitions.ts";
import { type Announcer, createAnnouncer } from "./messages/announcer.ts";
import { commandMessage, wakeMessage } from "./messages/messages.ts";
import { type ApiKeyPort, createApiKeyPort } from "./moves/api-key-port.ts";
import { type BatchPort, createBatchPort } from "./moves/batch-port.ts";
import { createExecutorPort, type ExecutorPort } from "./moves/executor-port.ts";
import type { Command, Wake } from "./moves/outcomes.ts";
import { createProfilePort, type ProfilePort } from "./moves/profile-port.ts";
import { createProjectPort, type ProjectPort } from "./moves/project-port.ts";
import { createRegistryPort, type RegistryPort } from "./moves/registry-port.ts";
import { createTurnPort, type TurnPort } from "./moves/turn-port.ts";
import type { Bus, BusMessage, Clock, Database, Ids, KillPoints } from "./ports.ts";
import { createReads, type Reads } from "./reads/reads.ts";
import { createStateReads, type StateReads } from "./reads/state-reads.ts";
import { createSweep, type Sweep } from "./recovery/sweeper.ts";
import type { WorkRole } from "./work/work-source.ts";

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
  /** Ends every lease in a store that no other process can hold (docs/design.md#one-dialect-two-engines). */
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
