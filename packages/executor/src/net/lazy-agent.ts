// The guarded agent of a host, made for its first request: most starts send none, and undici is a tenth of what a start loads.

import type { Dispatcher } from "undici";

export interface LazyAgent {
  dispatcher(): Promise<Dispatcher>;
  /** Waits for what is under way; where nothing was sent, there is nothing to close. */
  close(): Promise<void>;
}

export function createLazyAgent(): LazyAgent {
  let agent: Promise<Dispatcher> | null = null;
  return {
    dispatcher() {
      agent ??= import("./guarded-agent.ts").then(({ createGuardedAgent }) => createGuardedAgent());
      return agent;
    },
    async close() {
      await (await agent)?.close();
    },
  };
}
