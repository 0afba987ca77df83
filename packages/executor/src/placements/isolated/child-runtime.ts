// `ctx.runtime` inside an isolated child: every method is a question to the host.

import type { AgentToolRuntime } from "@tessera/tool";
import { decodeDates, encodeDates, RUNTIME_METHODS, type RuntimeMethod, type RuntimeReply } from "./frames.ts";

export interface ChildRuntime {
  readonly runtime: AgentToolRuntime;
  onReply(ask: number, reply: RuntimeReply): void;
  /** The call is settled: no answer will come any more. */
  close(): void;
}

export function createChildRuntime(ask: (ask: number, method: RuntimeMethod, args: unknown[]) => void): ChildRuntime {
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let asks = 0;
  let isClosed = false;
  const methods = RUNTIME_METHODS.map((method) => [
    method,
    (...args: unknown[]) =>
      new Promise<unknown>((resolve, reject) => {
        if (isClosed) throw new Error("the call of this context is over");
        const id = ++asks;
        ask(id, method, encodeDates(args) as unknown[]); // throws for what is not JSON
        open.set(id, { resolve, reject });
      }),
  ]);
  return {
    runtime: Object.fromEntries(methods) as AgentToolRuntime,
    onReply(id, reply) {
      const waiting = open.get(id);
      open.delete(id);
      if (reply.ok) waiting?.resolve(decodeDates(reply.value));
      else waiting?.reject(Object.assign(new Error(reply.error.message), reply.error));
    },
    close() {
      isClosed = true;
      open.clear(); // left unsettled on purpose: an unhandled rejection would end the process
    },
  };
}
