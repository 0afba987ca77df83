// Commands of a user, in a world without this clone: in its place they find an empty directory.
//
//   U1. Linux hides it, for the command and all that it starts: in a mount namespace of its own an empty file system lies over it.
//       The command keeps its process, so a signal reaches it. Elsewhere commands run without that proof.
//   U2. What is started is ended with its group, or with this process.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { waitFor } from "@tessera/testkit/wait-for";
import { ROOT } from "../../scripts/release/workspace.ts";
import type { InstalledProject } from "./installed-project.ts";

const RUN_MS_MAX = 240_000;

export interface Ran {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

/** Whether the clone is hidden (U1). */
export const isHidden = process.platform === "linux";

export interface User {
  /** Runs it to its end. */
  run(command: string, ...args: string[]): Ran;
  /** The same, for what has to succeed: what it printed. */
  output(command: string, ...args: string[]): string;
  start(command: string, ...args: string[]): Started;
}

export function asUser({ directory, env }: InstalledProject): User {
  function run(command: string, ...args: string[]): Ran {
    const [program, ...rest] = withoutClone([command, ...args]);
    const { status, stdout, stderr, error } = spawnSync(program, rest, {
      cwd: directory,
      env,
      encoding: "utf8",
      timeout: RUN_MS_MAX,
      killSignal: "SIGKILL",
    });
    if (error !== undefined) throw error;
    return { exitCode: status, out: stdout, err: stderr };
  }
  return {
    run,
    output(...line) {
      const { exitCode, out, err } = run(...line);
      if (exitCode !== 0) throw new Error(`${line.join(" ")} ended with ${exitCode}:\n${out}${err}`);
      return out;
    },
    start(...line) {
      const [program, ...rest] = withoutClone(line);
      return new Started(
        spawn(program, rest, { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"], detached: true }),
      );
    },
  };
}

const HIDE = 'mount -t tmpfs -o ro none "$0" && exec "$@"';

/** U1 */
function withoutClone(line: readonly string[]): [string, ...string[]] {
  if (!isHidden) return [...line] as [string, ...string[]];
  const asOwnRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  return ["unshare", "--mount", ...asOwnRoot, "sh", "-c", HIDE, ROOT, ...line];
}

class Started implements AsyncDisposable {
  readonly #child: ChildProcess;
  #said = "";

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (this.#said += String(chunk)));
  }

  /** What matches in what it has printed. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const isOver = () => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await waitFor(() => pattern.test(this.#said) || isOver(), {
      what: `${this.#child.spawnargs.join(" ")} to print ${pattern}`,
      timeoutMs: RUN_MS_MAX / 4,
    });
    const found = pattern.exec(this.#said);
    if (found === null) throw new Error(`it ended without printing ${pattern}:\n${this.#said}`);
    return found;
  }

  /** Ctrl-C, as a terminal sends it: to the whole group. */
  async interrupt(): Promise<{ readonly exitCode: number | null; readonly said: string }> {
    const exit = once(this.#child, "close");
    this.#signal("SIGINT");
    const [exitCode] = (await exit) as [number | null];
    return { exitCode, said: this.#said };
  }

  /** U2 */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, "close");
    this.#signal("SIGKILL");
    await exit;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child.pid !== undefined) process.kill(-this.#child.pid, signal);
  }
}
