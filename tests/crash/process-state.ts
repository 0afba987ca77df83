// What the kernel of this machine says about a process: proof that a signal did what it should.

import { readFileSync } from "node:fs";

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** True while it is stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name in parentheses may hold anything; the state is the first field after it.
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}
