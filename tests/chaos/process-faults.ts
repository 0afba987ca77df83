// Faults of processes: kill -9, and stopped for longer than their lease.

import { setTimeout as delay } from "node:timers/promises";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import { isAlive, isStopped } from "../crash/process-state.ts";
import { LEASE_MS, PYTHON, type Victim, WORKERS } from "./chaos-world.ts";
import { type Fault, prove } from "./fault.ts";

const PAUSE_MS = 2 * LEASE_MS;
const ROLES: Readonly<Record<string, readonly Victim[]>> = {
  worker: WORKERS,
  tools: ["tools"],
  python: [PYTHON],
  pmo: ["pmo"],
  api: ["api"],
  kernel: ["kernel"],
};

export const PROCESS_FAULTS: readonly Fault[] = Object.entries(ROLES).flatMap(([role, victims]) => [
  kill(role, victims),
  pause(role, victims),
]);

function kill(role: string, victims: readonly Victim[]): Fault {
  return {
    kind: `kill.${role}`,
    strike: async ({ world, measures, pick }) => {
      const victim = pick(victims);
      const pid = world.pidOf(victim);
      if (role === "worker") await measures.workersBusy(victims.length);
      await world.kill(victim);
      prove(!isAlive(pid), `process ${pid} of ${victim} is alive`);
      const watch = role === "worker" ? await measures.workerKilled() : null;
      await world.replace(victim);
      prove(world.pidOf(victim) !== pid, `${victim} was not replaced`);
      await watch?.(); // nothing else may happen before its turns have moved on
      return victim;
    },
  };
}

function pause(role: string, victims: readonly Victim[]): Fault {
  return {
    kind: `pause.${role}`,
    strike: async ({ world, pick }) => {
      const victim = pick(victims);
      const pid = world.pidOf(victim);
      world.signal(victim, "SIGSTOP");
      await waitFor(() => isStopped(pid), { what: `the fault did not happen: ${victim} to stop` });
      await delay(PAUSE_MS);
      prove(isStopped(pid), `${victim} went on before its time`);
      world.signal(victim, "SIGCONT");
      await waitFor(() => !isStopped(pid), { what: `${victim} to go on` });
      return victim;
    },
  };
}
