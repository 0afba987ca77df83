// A directory in memory for what tests write, where the machine has room for one.
//
//   M1. Only where programs may run from it, because tests install packages there, and where what a whole run writes leaves
//       the processes their memory. Containers often have a small one: then the disk it is, and a run takes longer.
//   M2. It belongs to this process and ends with it: what a killed test left behind would keep its memory.

import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

const PLACE = "/dev/shm";
/** A whole run has some 3 GB of files at its peak. */
const FREE_BYTES_MIN = 8 * 1024 ** 3;
const MEMORY_BYTES_MIN = 12 * 1024 ** 3;

/** Null where there is no such place. */
export function memoryDirectory(): string | null {
  if (!isUsable()) return null;
  const directory = mkdtempSync(join(PLACE, "tessera-"));
  chmodSync(directory, 0o1777); // PostgreSQL runs as a user of its own
  process.once("exit", () => rmSync(directory, { recursive: true, force: true })); // M2
  return directory;
}

/** M1 */
function isUsable(): boolean {
  try {
    const mounts = readFileSync("/proc/mounts", "utf8").split("\n");
    const [, , type, options = "noexec"] = mounts.findLast((line) => line.split(" ")[1] === PLACE)?.split(" ") ?? [];
    const { bavail, bsize } = statfsSync(PLACE);
    accessSync(PLACE, constants.W_OK);
    const isRoomy = bavail * bsize >= FREE_BYTES_MIN && process.availableMemory() >= MEMORY_BYTES_MIN;
    return type === "tmpfs" && !options.split(",").includes("noexec") && isRoomy;
  } catch {
    return false; // another system
  }
}
