// What all processes of one command have together: memory, written bytes, processes.
//
//   W1. Limits of the system count per process or per user. The sum is looked at every WATCH_MS, so a command can be over
//       its limit for that long; where there is a control group (control-group.ts) it cannot at all.
//   W2. The processes are those below the command's first one. In a sandbox nothing leaves that tree. Outside one, a process
//       that detaches itself does (run.ts R2).
//   W3. Memory is what is private to a process or shared between them, each counted where it is mapped. Written bytes are
//       those that went towards a disk, and those of an ended process stay counted. The kernel adds them to the parent that
//       waits for it, and forgets them where the parent ignores its children. So what a process had when it was last seen
//       is looked for in what its ancestors gained around its end, each gained byte once; what is not found is kept as
//       lost. Parents are read before their children, and an end is judged one look later, when the parent was read after
//       it for certain: nothing is counted twice.
//   W4. An ancestor that writes as much as its ignored children hides them, once per level. So the plain sum of all ever
//       seen, in which a waited-for child counts at every level, is bounded too, at LEVELS times the limit.
//   W5. What has ended before it is read, or another system has not, counts as nothing. Written bytes that a process keeps
//       from us while it runs (it is not dumpable, or has another user's rights) count as too many. Not for root, who may read all but
//       where a container took that right, and then of no process at all; nor of the sandbox's own first process.
//   W6. The size of the workdir is not looked at: to add it up means to walk it, ten times a second, and what its file system
//       has left changes with everything else that writes there. What an ignored child writes after the last look at it is
//       therefore not counted.

import { readdir, readFile } from "node:fs/promises";

export const WATCH_MS = 100;

export interface TotalLimits {
  readonly totalMemoryBytes: number;
  readonly totalWrittenBytes: number;
  readonly processes: number;
}

export type ExceededTotal = "memory" | "disk" | "processes";

/** W4 */
const LEVELS = 8;
const NOTHING = { grossBytes: 0, netBytes: 0 };

export interface TotalWatch {
  /** One look at a time. */
  exceeded(rootPid: number): Promise<ExceededTotal | null>;
}

/** A process as it was last seen. Kept while it lives and for one look after (W3). */
interface Seen {
  parent: Seen | null;
  memoryBytes: number;
  /** Of itself and of the children it waited for. */
  grossBytes: number;
  /** Less what was deleted before it reached the disk. */
  netBytes: number;
  /** Gained in this look and the one before, and not yet matched with an ended process. */
  gainedBytes: number;
  gainedNowBytes: number;
}

export function watchTotals(limits: TotalLimits, { isConfined }: { readonly isConfined: boolean }): TotalWatch {
  let living = new Map<string, Seen>();
  let ended: readonly Seen[] = [];
  let lostBytes = 0;
  let endedBytes = 0;

  /** W3 */
  const judge = (process: Seen) => {
    endedBytes += process.netBytes;
    let missing = process.grossBytes;
    for (let above = process.parent; above !== null && missing > 0; above = above.parent) {
      const found = Math.min(missing, above.gainedBytes);
      above.gainedBytes -= found;
      missing -= found;
    }
    lostBytes += Math.min(missing, process.netBytes);
  };

  return {
    async exceeded(rootPid) {
      const levels = await levelsBelow(rootPid);
      const count = levels.reduce((total, level) => total + level.length, 0);
      if (count > limits.processes) return "processes";
      const before = living;
      const now = new Map<string, Seen>();
      const byPid = new Map<number, Seen>();
      for (const level of levels) {
        const used = await Promise.all(level.map(({ pid }) => usedBy(pid)));
        for (const [index, { pid, parentPid, startTime }] of level.entries()) {
          const each = used[index];
          if (each === undefined || each === "gone") continue;
          if (each.written === "kept" && !(isConfined && pid === rootPid)) return "disk"; // W5
          const key = `${pid}:${startTime}`;
          const last = before.get(key);
          const written = typeof each.written === "string" ? (last ?? NOTHING) : each.written;
          const gainedNowBytes = last === undefined ? 0 : Math.max(0, written.grossBytes - last.grossBytes);
          const seen = last ?? { parent: null, memoryBytes: 0, ...NOTHING, gainedBytes: 0, gainedNowBytes: 0 };
          seen.parent = pid === rootPid ? null : (byPid.get(parentPid) ?? byPid.get(rootPid) ?? null);
          seen.memoryBytes = each.memoryBytes;
          seen.grossBytes = written.grossBytes;
          seen.netBytes = written.netBytes;
          seen.gainedBytes += gainedNowBytes;
          seen.gainedNowBytes = gainedNowBytes;
          now.set(key, seen);
          byPid.set(pid, seen);
        }
      }
      living = now;
      for (const process of ended) judge(process);
      ended = [...before].filter(([key]) => !now.has(key)).map(([, process]) => process);
      for (const process of ended) process.gainedNowBytes = 0;
      for (const process of [...now.values(), ...ended]) {
        process.gainedBytes = Math.min(process.gainedBytes, process.gainedNowBytes);
      }
      const sum = (of: (each: Seen) => number) => [...now.values()].reduce((total, each) => total + of(each), 0);
      if (sum(({ memoryBytes }) => memoryBytes) > limits.totalMemoryBytes) return "memory";
      const writtenBytes = sum(({ netBytes }) => netBytes);
      if (writtenBytes + lostBytes > limits.totalWrittenBytes) return "disk";
      return writtenBytes + endedBytes > LEVELS * limits.totalWrittenBytes ? "disk" : null;
    },
  };
}

interface Used {
  readonly memoryBytes: number;
  readonly written: Written | "kept" | "as before";
}

interface Written {
  readonly grossBytes: number;
  readonly netBytes: number;
}

async function usedBy(pid: number): Promise<Used | "gone"> {
  const io = await readIo(pid);
  const status = await readText(`/proc/${pid}/status`); // after the other: what has ended by now had perhaps ended then
  if (status === "" || io === "gone") return "gone";
  const kib = (name: string) => numberOf(status, name) * 1_024;
  const memoryBytes = kib("RssAnon") + kib("RssShmem") + kib("VmSwap");
  if (io === "denied") {
    // One that has ended and is not yet reaped belongs to root. It has no memory, and writes no more.
    const isKept = /^VmSize:/m.test(status) && process.getuid?.() !== 0; // W5
    return { memoryBytes, written: isKept ? "kept" : "as before" };
  }
  const grossBytes = numberOf(io, "write_bytes");
  return {
    memoryBytes,
    written: { grossBytes, netBytes: Math.max(0, grossBytes - numberOf(io, "cancelled_write_bytes")) },
  };
}

/** A kernel that does not count has no such file. */
async function readIo(pid: number): Promise<string> {
  try {
    return await readFile(`/proc/${pid}/io`, "latin1");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH") return "gone";
    return code === "ENOENT" ? "" : "denied";
  }
}

interface Listed {
  readonly pid: number;
  readonly parentPid: number;
  readonly startTime: string;
}

/** W2: the first process, its children, theirs and so on. */
async function levelsBelow(rootPid: number): Promise<Listed[][]> {
  const names = await readdir("/proc").catch(() => []); // W5
  const pids = names.map(Number).filter(Number.isSafeInteger);
  const listed = await Promise.all(pids.map(listedOf));
  const children = new Map<number, Listed[]>();
  for (const each of listed) {
    const siblings = children.get(each.parentPid);
    if (siblings === undefined) children.set(each.parentPid, [each]);
    else siblings.push(each);
  }
  const levels: Listed[][] = [];
  let level = listed.filter(({ pid }) => pid === rootPid);
  while (level.length > 0) {
    levels.push(level);
    level = level.flatMap(({ pid }) => children.get(pid) ?? []);
  }
  return levels;
}

/** The name of a program may hold spaces and brackets; what counts stands behind the last one. */
async function listedOf(pid: number): Promise<Listed> {
  const text = await readText(`/proc/${pid}/stat`);
  const fields = text
    .slice(text.lastIndexOf(")") + 1)
    .trim()
    .split(" ");
  return { pid, parentPid: Number(fields[1] ?? 0), startTime: fields[19] ?? "" };
}

function numberOf(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(text)?.[1] ?? 0);
}

async function readText(path: string): Promise<string> {
  return await readFile(path, "latin1").catch(() => ""); // W5
}
