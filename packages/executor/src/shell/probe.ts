// Whether commands of a model can be run here, found out by doing it.
//
//   P1. The probe starts the very sandbox that commands get. What the system's version or settings promise counts for
//       nothing.
//   P2. Without a sandbox the shell is off. Only the operator can say otherwise (`allowUnconfinedShell`), and a sandbox that
//       works is used even then.
//   P3. The reason says what to do.

import { existsSync } from "node:fs";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@tessera/kernel/ports";
import { runShell } from "./run.ts";
import { BWRAP_PATH_DEFAULT, planSpawn, SHELL_LIMITS_DEFAULT, type ShellLimits, type ShellSetup } from "./sandbox.ts";

export interface ShellOptions {
  /** Run commands without a sandbox where none can be made. They then have all rights of this process's user. */
  readonly allowUnconfinedShell?: boolean;
  readonly bwrapPath?: string;
  readonly readPaths?: readonly string[];
  readonly limits?: Partial<ShellLimits>;
}

export interface ShellStatus {
  readonly kind: "confined" | "unconfined" | "off";
  /** One sentence for the operator. */
  readonly reason: string;
}

const PROBE_TIMEOUT_MS = 10_000;
const SAID = "tessera-confined";
/** Forks, writes into the workdir, looks for something that must not be there, and tries to get more rights. */
const SCRIPT = `[ ! -e /etc/shadow ] && [ "$(echo forked)" = forked ] && ! unshare --user true 2>/dev/null && : > written && echo ${SAID}`;

export async function probeShell(options: ShellOptions, clock: Clock): Promise<ShellStatus> {
  const problem = await whyNotConfined(setupOf(options, "confined"), clock);
  if (problem === null) return { kind: "confined", reason: "commands run in bubblewrap" };
  if (options.allowUnconfinedShell === true) {
    return { kind: "unconfined", reason: `commands run without a sandbox, as the operator allowed: ${problem}` }; // P2
  }
  return { kind: "off", reason: problem };
}

export function setupOf(options: ShellOptions, kind: ShellSetup["kind"]): ShellSetup {
  return {
    kind,
    bwrapPath: options.bwrapPath ?? BWRAP_PATH_DEFAULT,
    readPaths: options.readPaths ?? [],
    limits: { ...SHELL_LIMITS_DEFAULT, ...options.limits },
  };
}

async function whyNotConfined(setup: ShellSetup, clock: Clock): Promise<string | null> {
  if (process.platform !== "linux") return "bubblewrap exists on Linux only";
  if (!existsSync(setup.bwrapPath)) {
    return `${setup.bwrapPath} is missing; install bubblewrap (Debian and Ubuntu: apt-get install bubblewrap)`;
  }
  const workdir = await realpath(await mkdtemp(join(tmpdir(), "tessera-shell-")));
  try {
    const argv = ["/bin/sh", "-c", SCRIPT] as const;
    const plan = planSpawn(setup, { workdir, cwd: workdir, argv, env: {}, timeoutMs: PROBE_TIMEOUT_MS });
    const signal = new AbortController().signal;
    const options = { timeoutMs: PROBE_TIMEOUT_MS, signal, clock, limits: setup.limits };
    const { stdout, stderr, exitCode } = await runShell(plan, options); // P1
    if (exitCode === 0 && stdout.trim() === SAID && existsSync(join(workdir, "written"))) return null;
    return advice(stderr.trim().split("\n")[0] || `it ended with ${exitCode}`);
  } catch (error) {
    return advice(error instanceof Error ? error.message : String(error));
  } finally {
    await rm(workdir, { recursive: true, force: true });
  }
}

function advice(problem: string): string {
  return `bubblewrap cannot make a sandbox here: ${problem.slice(0, 300)}${todoFor(problem)}`; // P3
}

function todoFor(problem: string): string {
  if (/unknown option/i.test(problem)) return "; version 0.7 or later is needed";
  if (/prlimit|setpriv/.test(problem)) return "; install util-linux, which has prlimit and setpriv";
  if (!/permission|permitted|uid map|namespace/i.test(problem)) return "";
  return (
    "; allow user namespaces for this user (sysctl kernel.unprivileged_userns_clone=1; Ubuntu 24.04 and later: an " +
    "AppArmor profile for bwrap), or see what forbids them in this container"
  );
}
