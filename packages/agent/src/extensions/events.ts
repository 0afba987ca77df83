// Events between the extensions of a process.
//
//   V1. `emit` waits for all handlers and never fails: a handler that throws is told and keeps nobody from hearing.

export interface Listener {
  readonly extension: string;
  readonly handle: (payload: unknown) => unknown;
}

export interface ExtensionEvents {
  on(name: string, listener: Listener): () => void;
  emit(name: string, payload: unknown): Promise<void>;
}

export function createEvents(onFault: (extension: string, event: string, error: unknown) => void): ExtensionEvents {
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
            await handle(payload);
          } catch (error) {
            onFault(extension, name, error); // V1
          }
        }),
      );
    },
  };
}
