// Events between the extensions of a process.
//
//   V1. `emit` waits for all handlers and never fails: a handler that throws is reported and keeps no other from being called.
//   V2. A handler is code of its own extension, whichever extension emits (tool's foreign-code.ts).

import { type ForeignCode, runForeign } from "@tessera/tool/run";

interface Listener {
  readonly extension: string;
  readonly handle: (...payload: unknown[]) => unknown;
}

export interface ExtensionEvents {
  on(name: string, listener: Listener): () => void;
  emit(name: string, payload: readonly unknown[]): Promise<void>;
}

export function createEvents(
  foreignOf: (extension: string) => ForeignCode,
  onFault: (extension: string, event: string, error: unknown) => void,
): ExtensionEvents {
  const listeners = new Map<string, Set<Listener>>();
  return {
    on(name, listener) {
      const heard = listeners.get(name) ?? new Set();
      listeners.set(name, heard.add(listener));
      return () => void heard.delete(listener);
    },
    async emit(name, payload) {
      await Promise.all(
        [...(listeners.get(name) ?? [])].map(async ({ extension, handle }) => {
          try {
            await runForeign(foreignOf(extension), () => handle(...payload)); // V2
          } catch (error) {
            onFault(extension, name, error); // V1
          }
        }),
      );
    },
  };
}
