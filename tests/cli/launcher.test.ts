// Who stands between a command and the one who wants it ended: a Node that is too old and hands over, or npm. None leaves a server
// behind, however it ends.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ROOT, TESSERA } from "./run-tessera.ts";

const SLOW_MS = 120_000;
/** What an idle server needs to drain, on a machine that is busy. */
const ENDED_MS_MAX = 15_000;
/** A Node that is too old for the command: it hands over. */
const OLD =
  "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.9.0'}})";

let directory = "";
const started: number[] = [];
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-launcher-"));
});
afterEach(() => {
  for (const pid of started.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const isLinux = process.platform === "linux";

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !isLinux || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** The processes that it started, and theirs. */
function descendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // it ended meanwhile
    }
  }
  const isBelow = (each: number): boolean => {
    const parent = parents.get(each);
    return parent !== undefined && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

interface Launched {
  readonly launcher: ChildProcess;
  readonly pid: number;
  /** Those behind it. */
  readonly below: readonly number[];
  readonly exit: Promise<unknown[]>;
  readonly out: Promise<string>;
}

async function launched(command: string, args: readonly string[], what: string): Promise<Launched> {
  const launcher = spawn(command, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  const exit = once(launcher, "exit");
  const out = text(launcher.stdout);
  let said = "";
  for (const stream of [launcher.stdout, launcher.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const pid = launcher.pid ?? 0;
  started.push(pid);
  const isUp = () =>
    said.includes(what) ? true : launcher.exitCode !== null ? Promise.reject(new Error(said)) : false;
  await waitFor(isUp, { what: `${command} ${args.join(" ")} to print ${what}`, timeoutMs: SLOW_MS / 2 });
  const below = descendants(pid);
  started.push(...below);
  return { launcher, pid, below, exit, out };
}

const start = (name: string) => [
  "--import",
  OLD,
  TESSERA,
  "start",
  "--data",
  join(directory, name),
  "--port",
  "0",
  "--json",
];

describe.runIf(isLinux)("a server behind an old Node that handed over", () => {
  it(
    "drains and ends when that one is killed",
    async () => {
      const { launcher, below, exit, out } = await launched(process.execPath, start("killed"), '"event":"started"');
      expect(below.length).toBeGreaterThan(0);
      launcher.kill("SIGKILL");
      expect(await exit).toEqual([null, "SIGKILL"]);
      await waitFor(() => !below.some(isAlive), { what: "the server to end", timeoutMs: ENDED_MS_MAX });
      expect(await out).toContain('"event":"stopping"'); // in order, not cut off
    },
    SLOW_MS,
  );

  it.each(["SIGTERM", "SIGINT"] as const)(
    "gets %s passed on, and its exit code passed back",
    async (signal) => {
      const { launcher, below, exit, out } = await launched(process.execPath, start(signal), '"event":"started"');
      launcher.kill(signal);
      expect(await exit).toEqual([0, null]);
      expect(await out).toContain('"event":"stopping"');
      expect(below.some(isAlive)).toBe(false);
    },
    SLOW_MS,
  );

  it(
    "gets SIGHUP passed on, and its signal passed back",
    async () => {
      const { launcher, below, exit } = await launched(process.execPath, start("SIGHUP"), '"event":"started"');
      launcher.kill("SIGHUP");
      expect(await exit).toEqual([null, "SIGHUP"]);
      expect(below.some(isAlive)).toBe(false);
    },
    SLOW_MS,
  );

  it(
    "stops in order at Ctrl-C, which reaches both and is passed on besides",
    async () => {
      const { launcher, below, exit, out } = await launched(process.execPath, start("both"), '"event":"started"');
      for (const pid of below) process.kill(pid, "SIGINT");
      launcher.kill("SIGINT");
      expect(await exit).toEqual([0, null]);
      expect(await out).toContain('"event":"stopping"');
    },
    SLOW_MS,
  );
});

describe.runIf(isLinux)("the quick start behind npm", () => {
  it(
    "ends when npm is killed",
    async () => {
      const args = ["start", "--", "--data", join(directory, "quickstart"), "--port", "0"];
      const { launcher, below } = await launched("npm", args, "Ctrl-C stops it");
      expect(below.length).toBeGreaterThan(0);
      launcher.kill("SIGKILL");
      await waitFor(() => !below.some(isAlive), { what: "the quick start to end", timeoutMs: ENDED_MS_MAX });
    },
    SLOW_MS,
  );
});
