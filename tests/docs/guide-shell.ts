// One shell for a whole guide, so that variables, the directory and background processes live from block to block.
//
//   S1. A block ends with the status of the last command in it that failed, else 0: a failure in the middle is seen.
//   S2. Whatever a guide leaves running is ended with its shell.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const BLOCK_MS_MAX = 90_000;
const END_MS_MAX = 10_000;

export interface BlockRan {
  readonly status: number;
  /** stdout and stderr as they came. */
  readonly output: string;
}

export class GuideShell {
  readonly #child: ChildProcess;
  readonly #scratch: string;
  #output = "";
  #blocks = 0;

  /** `scratch` is for the shell's own files; `directory` is the reader's. */
  constructor(options: { readonly directory: string; readonly scratch: string; readonly env: Record<string, string> }) {
    this.#scratch = options.scratch;
    // A group of its own: what it starts in the background goes with it (S2).
    this.#child = spawn("bash", ["--noprofile", "--norc"], {
      cwd: options.directory,
      env: options.env,
      stdio: ["pipe", "pipe", "inherit"],
      detached: true,
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output += text;
    });
    this.#child.stdin?.write("exec 2>&1\n"); // one pipe for both, or their order would be undefined
  }

  async run(text: string): Promise<BlockRan> {
    this.#blocks += 1;
    const file = join(this.#scratch, `block-${this.#blocks}.sh`);
    writeFileSync(file, `${text}\n`);
    this.#output = "";
    const mark = `--- end of block ${this.#blocks}`;
    this.#child.stdin?.write(
      `__status=0; trap '__status=$?' ERR; eval "$(cat '${file}')"; trap - ERR; echo "${mark} $__status"\n`, // S1
    );
    const status = await this.#until(new RegExp(`^${mark} (\\d+)$`, "m"));
    const [shown = ""] = this.#output.split(mark);
    return { status, output: shown };
  }

  /** S2 */
  async close(): Promise<void> {
    const pid = this.#child.pid;
    if (pid === undefined) return;
    const ended = once(this.#child, "close");
    this.#signal("SIGTERM");
    this.#child.stdin?.end();
    const timer = setTimeout(() => this.#signal("SIGKILL"), END_MS_MAX);
    await ended;
    clearTimeout(timer);
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid ?? 0), signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // nothing is left of it
    }
  }

  #until(mark: RegExp): Promise<number> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        this.#child.stdout?.off("data", look);
        this.#child.off("exit", gone);
      };
      const fail = (why: string) => {
        stop();
        reject(new Error(`${why}; it printed:\n${this.#output}`));
      };
      const look = () => {
        const found = mark.exec(this.#output);
        if (found === null) return;
        stop();
        resolve(Number(found[1]));
      };
      const gone = () => fail("the shell ended");
      const timer = setTimeout(() => fail(`the block did not end within ${BLOCK_MS_MAX} ms`), BLOCK_MS_MAX);
      this.#child.stdout?.on("data", look);
      this.#child.once("exit", gone);
    });
  }
}
