// A child process that inherits nothing but the descriptors it is given.
//
//   D1. Node marks what it opens itself to be closed in children. What this process was handed by its own parent is not
//       marked, and an open directory is a way out of every sandbox. Such descriptors are /dev/null in the child.
//   D2. They are looked for once: later ones are Node's.

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";

const O_CLOEXEC = 0o2000000;

export interface ChildOptions extends Omit<SpawnOptions, "stdio"> {
  readonly stdio: readonly ("ignore" | "pipe")[];
}

let handed: readonly number[] | null = null;

export function spawnChild(file: string, args: readonly string[], options: ChildOptions): ChildProcess {
  handed ??= handedDescriptors(); // D2
  const covered = handed.filter((fd) => fd >= options.stdio.length);
  if (covered.length === 0) return spawn(file, args, { ...options, stdio: [...options.stdio] });
  const devNull = openSync("/dev/null", "r+");
  try {
    const length = Math.max(...covered) + 1;
    const rest = Array.from({ length }, (_, fd) => (covered.includes(fd) ? devNull : ("ignore" as const))); // D1
    return spawn(file, args, { ...options, stdio: [...options.stdio, ...rest.slice(options.stdio.length)] });
  } finally {
    closeSync(devNull);
  }
}

function handedDescriptors(): number[] {
  const place = process.platform === "linux" ? "/proc/self/fd" : "/dev/fd";
  try {
    const all = readdirSync(place).map(Number);
    return all.filter((fd) => fd > 2 && !isClosedInChildren(fd));
  } catch {
    return []; // Windows, whose children inherit only what they are given
  }
}

/** False where it cannot be read (no /proc). */
function isClosedInChildren(fd: number): boolean {
  if (process.platform !== "linux") return false;
  try {
    const [, flags] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "latin1")) ?? [];
    return (Number.parseInt(flags ?? "0", 8) & O_CLOEXEC) !== 0;
  } catch {
    return true; // gone: the directory that was just read
  }
}
