// A holder as a child process, seen from the story: its events, waited for with a deadline, and its end.

import { type ChildProcess, fork } from "node:child_process";
import type { StoryEvent, Tell } from "./story-event.ts";

const WAIT_MS_MAX = 30_000;

export class HolderChild {
  readonly #process: ChildProcess;
  readonly #events: StoryEvent[] = [];
  readonly #watchers = new Set<() => void>();
  #end: string | null = null;

  constructor(args: readonly string[], tell: Tell) {
    this.#process = fork(new URL("./holder.ts", import.meta.url), args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#process.on("message", (event: StoryEvent) => {
      tell(event);
      this.#events.push(event);
      this.#wake();
    });
    this.#process.once("exit", (code, signal) => {
      this.#end = signal ?? `exit code ${code}`;
      this.#wake();
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The first event that fits; fails when the process ends before. */
  async event(name: string, tool?: string): Promise<StoryEvent> {
    return await this.#waitFor(`${name} ${tool ?? ""}`, () => {
      const found = this.#events.find((event) => event.event === name && (tool === undefined || event.tool === tool));
      if (found === undefined && this.#end !== null) throw new Error(`the process ended (${this.#end}) before ${name}`);
      return found;
    });
  }

  /** How it ended: a signal's name, or its exit code. */
  async ended(): Promise<string> {
    return await this.#waitFor("the end of the process", () => this.#end ?? undefined);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  #wake(): void {
    for (const look of this.#watchers) look();
  }

  async #waitFor<T>(what: string, look: () => T | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const timer = setTimeout(() => reject(new Error(`waited ${WAIT_MS_MAX} ms for ${what}`)), WAIT_MS_MAX);
    const watch = () => {
      try {
        const found = look();
        if (found !== undefined) resolve(found);
      } catch (error) {
        reject(error);
      }
    };
    this.#watchers.add(watch);
    watch();
    return await promise.finally(() => {
      clearTimeout(timer);
      this.#watchers.delete(watch);
    });
  }
}
