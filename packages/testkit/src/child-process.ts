// A TypeScript file as a real child process, to be killed, stopped and watched.
//
// The child prints JSON, one value per line, on stdout; anything else it prints is kept for messages.
//
//   H1. A child does not outlive this process: `child-guard.ts`, loaded before it, ends it when our channel closes. While it is
//       stopped it could not, and a shell watches for it.
//   H2. Every wait has a deadline, and a failed one shows what the child printed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { endWithUs } from "./orphan-watch.ts";
import { waitFor } from "./wait-for.ts";

export interface ChildOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Ctrl-C and a closed terminal do not reach it: only the process that started it stops it. */
  readonly detached?: boolean;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const LINES_MAX = 10_000;
const EXIT_MS_MAX = 45_000;

export class TestChild {
  readonly pid: number;
  /** JSON values the child printed. */
  readonly messages: unknown[] = [];
  /** Everything it printed, for messages. */
  readonly output: string[] = [];
  readonly #process: ChildProcess;
  #exit: ChildExit | null = null;
  #release: (() => void) | null = null;

  private constructor(child: ChildProcess, pid: number) {
    this.#process = child;
    this.pid = pid;
    const keep = (line: string) => {
      this.output.push(line);
      if (this.output.length > LINES_MAX) this.output.shift();
    };
    if (child.stdout !== null) {
      createInterface({ input: child.stdout }).on("line", (line) => {
        keep(line);
        if (line.startsWith("{")) this.messages.push(JSON.parse(line));
      });
    }
    if (child.stderr !== null) createInterface({ input: child.stderr }).on("line", keep);
    child.once("exit", () => this.#unwatch());
    child.once("close", (code, signal) => {
      this.#exit = { code, signal };
    });
  }

  static async start(file: string | URL, options: ChildOptions = {}): Promise<TestChild> {
    const path = typeof file === "string" ? file : fileURLToPath(file);
    const guard = new URL("./child-guard.ts", import.meta.url).href;
    const child = spawn(process.execPath, ["--import", guard, path, ...(options.args ?? [])], {
      stdio: ["pipe", "pipe", "pipe", "ipc"],
      detached: options.detached ?? false,
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    child.stdin?.on("error", () => {}); // the child may be dead already
    await once(child, "spawn");
    return new TestChild(child, child.pid ?? 0);
  }

  get exit(): ChildExit | null {
    return this.#exit;
  }

  /** Sends a line to the child's stdin. */
  send(message: unknown): void {
    this.#process.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** The first message, already printed or still to come, for which `wanted` is true. */
  async waitForMessage<T = unknown>(what: string, wanted: (message: T) => boolean, timeoutMs = 45_000): Promise<T> {
    const found = await waitFor(
      () => {
        const at = this.messages.findIndex((message) => wanted(message as T));
        if (at >= 0) return { message: this.messages[at] as T };
        if (this.#exit !== null) return { message: null };
        return null;
      },
      { what: `the child to print ${what}`, timeoutMs },
    );
    if (found.message === null)
      throw new Error(`the child ended before it printed ${what}:\n${this.output.join("\n")}`);
    return found.message;
  }

  stop(): void {
    this.#signal("SIGSTOP");
    this.#release ??= endWithUs(this.pid); // H1
  }

  resume(): void {
    this.#signal("SIGCONT");
    this.#unwatch();
  }

  /** kill -9; resolves when it is gone, and fails if it had ended by itself. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.expectSignal("SIGKILL");
  }

  /** Asks it to end (SIGTERM) and waits. */
  async terminate(): Promise<ChildExit> {
    if (this.#exit === null) this.#signal("SIGTERM");
    return await this.ended();
  }

  async ended(timeoutMs = EXIT_MS_MAX): Promise<ChildExit> {
    return await waitFor(() => this.#exit, { what: `child ${this.pid} to end`, timeoutMs });
  }

  /** Proves that a fault happened: the child ended by this signal and not otherwise. */
  async expectSignal(signal: NodeJS.Signals): Promise<void> {
    const exit = await this.ended();
    if (exit.signal === signal) return;
    throw new Error(
      `the child should end by ${signal}, it ended with ${JSON.stringify(exit)}:\n${this.output.join("\n")}`,
    );
  }

  #unwatch(): void {
    this.#release?.();
    this.#release = null;
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#exit !== null) throw new Error(`the child has ended already: ${JSON.stringify(this.#exit)}`);
    process.kill(this.pid, signal);
  }
}
