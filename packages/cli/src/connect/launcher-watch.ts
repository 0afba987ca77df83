// The process that started this one stands between it and the person who wants it ended: the Node that handed over (bin/tessera.js), or
// npm. A launcher that is asked to end passes that on. One that is killed cannot: it is noticed here.
//
//   L1. A launcher that is gone is a SIGTERM to this process: a command that serves drains and ends, any other one ends.
//   L2. The Node that handed over holds the other end of a pipe and never writes to it: its end is the launcher's end. The
//       variable that says so is taken away, so that no process started from here believes it has such a pipe.
//   L3. npm hands no pipe on, so whether it is still there is looked at once a second: it is the parent, or the parent of the shell
//       that it runs scripts with. A shell that ended first was meant to leave this process running (`tessera start &` in a script):
//       then nothing is watched any more.

import { fstatSync, readFileSync } from "node:fs";
import { Socket } from "node:net";

/** Set by bin/tessera.js; the pipe is its WATCH_FD. */
const TOOK_OVER = "TESSERA_NODE_TOOK_OVER";
const WATCH_FD = 3;
const LOOK_EVERY_MS = 1_000;
const NPM = /^(?:\S*\/)?(?:node\0\S*\/)?(?:npm|npx|pnpm|yarn)\b/;

export function endWithLauncher(): void {
  const gone = () => process.kill(process.pid, "SIGTERM"); // L1
  const isHandedOver = process.env[TOOK_OVER] !== undefined;
  delete process.env[TOOK_OVER]; // L2
  if (isHandedOver && isPipe(WATCH_FD)) {
    const pipe = new Socket({ fd: WATCH_FD, readable: true, writable: false });
    pipe.on("error", () => {}); // a launcher that died hard; it is closed, too
    pipe.once("close", gone);
    pipe.resume();
    pipe.unref();
    return;
  }
  const child = [process.pid, process.ppid].find((pid) => isNpm(parentOf(pid)));
  if (child === undefined) return;
  const npm = parentOf(child);
  const looking = setInterval(() => {
    const parent = parentOf(child);
    if (parent === npm) return;
    clearInterval(looking);
    if (parent !== null) gone();
  }, LOOK_EVERY_MS); // L3
  looking.unref();
}

/** Null where it has ended, or the system does not say: then this process ends when it is asked to. */
function parentOf(pid: number): number | null {
  if (pid === process.pid) return process.ppid;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]); // behind the name: the state, the parent
  } catch {
    return null;
  }
}

function isPipe(fd: number): boolean {
  try {
    const stats = fstatSync(fd);
    return stats.isSocket() || stats.isFIFO();
  } catch {
    return false;
  }
}

function isNpm(pid: number | null): boolean {
  try {
    return pid !== null && NPM.test(readFileSync(`/proc/${pid}/cmdline`, "utf8"));
  } catch {
    return false;
  }
}
