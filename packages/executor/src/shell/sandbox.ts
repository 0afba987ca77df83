// How a command of a model is started: inside bubblewrap, or not at all unless the operator says so.
//
//   S1. Confined means: own namespaces for processes, network, IPC and mounts; nothing of the disk but the system's
//       programs (read-only), the workdir and a small /tmp; no capability that reaches anything outside.
//   S2. The sandbox program itself is started with an empty environment. Inside, process 1 is that program, and its
//       environment is readable by every process of the same user.
//   S3. The command's own variables are set last, by `env -i`: a variable of a model never reaches a program that still
//       has rights to lose. They stand on a command line, like the command itself, and are no place for secrets.
//   S4. A host that runs as root gives its rights up before the command runs: user `nobody`, one capability, the one to
//       read and write the workdir's files whatever user owns them. Root in a user namespace would not do: the kernel counts no
//       processes for it and lets it write settings under /proc/sys that reach the whole machine. The price: all commands of
//       the machine share one process limit, new files belong to `nobody`, and modes of the host's own files cannot be
//       changed.
//   S5. Of the system calls, those are missing that lead around the limits (system-call-filter.ts).
//   S6. Unconfined keeps the clean environment and the limits that need no sandbox, and nothing else.

import { existsSync, lstatSync } from "node:fs";
import type { TotalLimits } from "./watch.ts";

export interface ShellLimits extends TotalLimits {
  /** Per process. */
  readonly addressBytes: number;
  /** Per process: what it may fill, as opposed to reserve. */
  readonly memoryBytes: number;
  readonly fileBytes: number;
  readonly tmpBytes: number;
}

/** V8 and the JVM reserve some GiB of addresses and use little of them, so the two memory limits differ. */
export const SHELL_LIMITS_DEFAULT: ShellLimits = {
  addressBytes: 8 * 1024 ** 3,
  memoryBytes: 2 * 1024 ** 3,
  totalMemoryBytes: 2 * 1024 ** 3,
  totalWrittenBytes: 1024 ** 3,
  processes: 256,
  fileBytes: 256 * 1024 ** 2,
  tmpBytes: 64 * 1024 ** 2,
};

export interface ShellSetup {
  readonly kind: "confined" | "unconfined";
  readonly bwrapPath: string;
  /** More of the disk to show read-only, e.g. a toolchain outside /usr. */
  readonly readPaths: readonly string[];
  readonly limits: ShellLimits;
}

export interface ShellJob {
  /** Real path. */
  readonly workdir: string;
  /** Real path, inside the workdir. */
  readonly cwd: string;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface SpawnPlan {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The sandbox reports its inner process on INFO_FD and reads its system calls from FILTER_FD. */
  readonly isConfined: boolean;
}

export const INFO_FD = 3;
export const FILTER_FD = 4;
export const BWRAP_PATH_DEFAULT = "/usr/bin/bwrap";
const PRLIMIT = "/usr/bin/prlimit";
const SETPRIV = "/usr/bin/setpriv";
const NOBODY = 65_534;
const PATH = "/usr/local/bin:/usr/bin:/bin";
const SYSTEM_LINKS = ["bin", "sbin", "lib", "lib32", "lib64"];
/** What programs under /usr look up. Nothing of it describes this machine or its users. */
const SYSTEM_FILES = ["/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/certs"];

export function planSpawn(setup: ShellSetup, job: ShellJob): SpawnPlan {
  const env = { PATH, HOME: job.workdir, LANG: "C.UTF-8", ...job.env };
  if (setup.kind === "unconfined") {
    const [file, ...args] = existsSync(PRLIMIT) ? [PRLIMIT, ...limitArgs(setup, job), "--", ...job.argv] : job.argv;
    return { file, args, env, cwd: job.cwd, isConfined: false }; // S6
  }
  const isRoot = process.getuid?.() === 0;
  const args = [
    ...namespaceArgs(isRoot),
    ...mountArgs(setup, job.workdir),
    ...["--chdir", job.cwd, "--info-fd", String(INFO_FD), "--seccomp", String(FILTER_FD), "--"], // S5
    ...(isRoot ? dropRights() : []),
    ...[PRLIMIT, ...limitArgs(setup, job), `--nproc=${setup.limits.processes}`, "--"],
    ...["/usr/bin/env", "-i", ...Object.entries(env).map(([name, value]) => `${name}=${value}`)], // S3
    ...job.argv,
  ];
  return { file: setup.bwrapPath, args, env: {}, cwd: "/", isConfined: true }; // S2
}

function namespaceArgs(isRoot: boolean): string[] {
  const always = ["--die-with-parent", "--new-session", "--clearenv"];
  if (!isRoot) return ["--unshare-all", "--cap-drop", "ALL", ...always];
  // All but the user namespace, which S4 makes needless and harmful.
  const namespaces = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"];
  return [...namespaces, ...always];
}

function mountArgs(setup: ShellSetup, workdir: string): string[] {
  const tmpBytes = String(setup.limits.tmpBytes);
  return [
    ...["--ro-bind", "/usr", "/usr"],
    ...SYSTEM_LINKS.flatMap(systemDirectory),
    ...SYSTEM_FILES.flatMap((path) => ["--ro-bind-try", path, path]),
    ...setup.readPaths.flatMap((path) => ["--ro-bind", path, path]),
    ...["--proc", "/proc", "--dev", "/dev"],
    ...["--size", tmpBytes, "--tmpfs", "/dev/shm", "--size", tmpBytes, "--perms", "1777", "--tmpfs", "/tmp"],
    ...["--bind", workdir, workdir],
    ...["--remount-ro", "/dev", "--remount-ro", "/"],
  ];
}

/** `/bin` is a link into /usr on most systems and a directory on some. */
function systemDirectory(name: string): string[] {
  const found = lstatSync(`/${name}`, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ["--symlink", `usr/${name}`, `/${name}`] : ["--ro-bind", `/${name}`, `/${name}`];
}

/** S4. */
function dropRights(): string[] {
  const only = "-all,+dac_override";
  const capabilities = [`--inh-caps=${only}`, `--ambient-caps=${only}`, `--bounding-set=${only}`];
  const user = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"];
  return [SETPRIV, ...user, ...capabilities, "--no-new-privs", "--"];
}

function limitArgs(setup: ShellSetup, job: ShellJob): string[] {
  const { addressBytes, memoryBytes, fileBytes } = setup.limits;
  const cpuSeconds = Math.ceil(job.timeoutMs / 1_000) + 1;
  return [`--as=${addressBytes}`, `--data=${memoryBytes}`, `--fsize=${fileBytes}`, `--cpu=${cpuSeconds}`, "--core=0"];
}
