// A control group for one command: the kernel then counts memory and processes of all it starts, and refuses at once.
//
//   G1. Whether one can be made is found out by making it. Version 2 needs a group whose controllers are ours to hand on
//       (systemd: Delegate=yes, DelegateSubgroup=…), version 1 a writable one. Without any the watched total remains (watch.ts).
//   G2. The command's first process enters the group before it becomes the command, so nothing is outside it.
//   G3. A group is removed when its command is dead. Those that a killed host left are removed by the next one of the same
//       process namespace: containers can share the place, and a pid says nothing about another one's processes.

import { mkdtemp, readdir, readFile, readlink, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "@tessera/kernel";
import type { Clock } from "@tessera/kernel/ports";
import type { TotalLimits } from "./watch.ts";

const ROOT = "/sys/fs/cgroup";
const PREFIX = "tessera-command-";
const REMOVE_ATTEMPTS_MAX = 20;
const REMOVE_PAUSE_MS = 25;
/** A place that is no control group, but a directory in memory, must not get files of these names. */
const EXISTING = { flag: "r+" } as const;

export interface ControlGroup {
  /** Files that take the pid of a process that enters (G2). */
  readonly entries: readonly string[];
  /** Whether the kernel ended a process of it for want of memory. */
  ranOutOfMemory(): Promise<boolean>;
  remove(): Promise<void>;
}

/** Where groups can be made, and how each is limited. */
interface Place {
  readonly parents: readonly string[];
  limitFiles(limits: TotalLimits): readonly (readonly [directory: number, file: string, value: number])[];
  /** In the first directory. */
  readonly events: string;
}

let place: Promise<Place | null> | null = null;

export async function makeControlGroup(limits: TotalLimits, clock: Clock): Promise<ControlGroup | null> {
  place ??= findPlace(limits, clock);
  const found = await place;
  return found === null ? null : await make(found, limits, clock);
}

async function findPlace(limits: TotalLimits, clock: Clock): Promise<Place | null> {
  for (const candidate of await candidates()) {
    const group = await make(candidate, limits, clock); // G1
    if (group === null) continue;
    await group.remove();
    await removeLeftBehind(candidate);
    return candidate;
  }
  return null;
}

async function make(place: Place, limits: TotalLimits, clock: Clock): Promise<ControlGroup | null> {
  const directories: string[] = [];
  try {
    const prefix = `${await namePrefix()}${process.pid}-`;
    for (const parent of place.parents) directories.push(await mkdtemp(join(parent, prefix)));
    for (const [index, file, value] of place.limitFiles(limits)) {
      await writeFile(join(directories[index] ?? "", file), String(value), EXISTING);
    }
    const entries = directories.map((directory) => join(directory, "cgroup.procs"));
    for (const entry of entries) await readFile(entry);
    return {
      entries,
      ranOutOfMemory: async () => {
        const events = await readFile(join(directories[0] ?? "", place.events), "latin1").catch(() => "");
        return Number(/^oom_kill (\d+)/m.exec(events)?.[1] ?? 0) > 0;
      },
      remove: async () => {
        for (const directory of directories) await removeGroup(directory, clock);
      },
    };
  } catch {
    for (const directory of directories) await rmdir(directory).catch(() => undefined);
    return null; // G1
  }
}

async function candidates(): Promise<Place[]> {
  if (process.platform !== "linux") return [];
  const own = new Map<string, string>();
  for (const line of (await readFile("/proc/self/cgroup", "latin1").catch(() => "")).split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers !== undefined && path !== undefined) for (const name of controllers.split(",")) own.set(name, path);
  }
  const unified = own.get("") ?? "/";
  const handedOn: Place[] = [];
  // A group with processes of its own hands no controllers on; the one above it may.
  for (const parent of [join(ROOT, unified), join(ROOT, unified, "..")]) {
    if (!parent.startsWith(ROOT)) continue;
    if (await handsOn(parent)) handedOn.push(version2(parent));
  }
  const memory = own.get("memory");
  const pids = own.get("pids");
  if (memory === undefined || pids === undefined) return handedOn;
  return [...handedOn, version1(join(ROOT, "memory", memory), join(ROOT, "pids", pids))];
}

async function handsOn(parent: string): Promise<boolean> {
  try {
    await writeFile(join(parent, "cgroup.subtree_control"), "+memory +pids", EXISTING);
    return true;
  } catch {
    return false;
  }
}

const version2 = (parent: string): Place => ({
  parents: [parent],
  events: "memory.events",
  limitFiles: ({ totalMemoryBytes, processes }) => [
    [0, "memory.max", totalMemoryBytes],
    [0, "pids.max", processes],
  ],
});

const version1 = (memory: string, pids: string): Place => ({
  parents: [memory, pids],
  events: "memory.oom_control",
  limitFiles: ({ totalMemoryBytes, processes }) => [
    [0, "memory.limit_in_bytes", totalMemoryBytes],
    [1, "pids.max", processes],
  ],
});

/** G3. A killed process is counted until it is reaped. */
async function removeGroup(directory: string, clock: Clock): Promise<void> {
  for (let attempt = 0; attempt < REMOVE_ATTEMPTS_MAX; attempt++) {
    try {
      await rmdir(directory);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY") return;
      await pause(clock, REMOVE_PAUSE_MS);
    }
  }
}

/** G3. With the number of the process namespace. */
async function namePrefix(): Promise<string> {
  const [namespace = "0"] = /\d+/.exec(await readlink("/proc/self/ns/pid").catch(() => "")) ?? [];
  return `${PREFIX}${namespace}-`;
}

/** G3. One that is in use cannot be removed, and one of another living host should not be. */
async function removeLeftBehind({ parents }: Place): Promise<void> {
  const prefix = await namePrefix();
  for (const parent of parents) {
    for (const name of await readdir(parent).catch(() => [])) {
      if (!name.startsWith(prefix)) continue;
      const [, pid] = /^(\d+)-\w+$/.exec(name.slice(prefix.length)) ?? [];
      if (pid !== undefined && !isRunning(Number(pid))) await rmdir(join(parent, name)).catch(() => undefined);
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
