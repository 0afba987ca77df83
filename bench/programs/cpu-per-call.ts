// Which process a call's CPU time went to: the two of the program, PostgreSQL with all its backends, the broker.
//
// The servers are read from /proc, so they are reported on Linux only; processes that end during the measurement are not counted.

import { readdirSync, readFileSync } from "node:fs";
import type { Figures } from "../statistics.ts";
import { cpuMicroseconds, flags, type SecondProcess } from "./program.ts";

type CpuTimes = Readonly<Record<string, number>>;

export interface CpuMeter {
  /** `c64_agent_cpu_us` and so on for the prefix `c64_`: what was used since this meter was started, by the call. */
  perCall(prefix: string, calls: number): Promise<Figures>;
}

/** `first` and `second` name this process and the other one. */
export async function startCpuMeter(first: string, second: string, other: SecondProcess): Promise<CpuMeter> {
  const read = async (): Promise<CpuTimes> => ({
    [first]: cpuMicroseconds(),
    [second]: await other.ask<number>("cpu"),
    ...serverTimes(),
  });
  const before = await read();
  return {
    async perCall(prefix, calls) {
      const used = Object.entries(await read()).map(([name, time]) => [name, time - (before[name] ?? 0)] as const);
      const total = used.reduce((sum, [, time]) => sum + time, 0);
      return Object.fromEntries(
        [...used, ["total", total] as const].map(([name, time]) => [
          `${prefix}${name}_cpu_us`,
          Math.round(time / calls),
        ]),
      );
    },
  };
}

function serverTimes(): CpuTimes {
  const postgres = Number(flags["postgres-pid"]);
  const nats = Number(flags["nats-pid"]);
  return {
    ...(postgres > 0 ? { postgres: sum([postgres, ...childrenOf(postgres)].map(microsecondsOf)) } : {}),
    ...(nats > 0 ? { nats: microsecondsOf(nats) } : {}),
  };
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    // pid (name) state parent …; a name may hold spaces and brackets.
    const stat = read(`/proc/${pid}/stat`);
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === parent;
  });
}

/** Over all threads. */
function microsecondsOf(pid: number): number {
  const nanoseconds = threadsOf(pid).map((thread) => {
    return Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]);
  });
  return sum(nanoseconds) / 1_000;
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has just ended
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // it has just ended
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
