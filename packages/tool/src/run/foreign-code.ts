// Code of others that runs in this process: inline tools, extensions, modules of a bundle, clients of models.
//
//   F1. The code that runs it says whose it is. What it leaves behind (a promise that is not awaited, a throw in a timer or
//       a listener) keeps the async context it was made in, and so can be reported as that code's.
//   F2. What it calls of ours runs outside of its context again, so that a mistake of ours is not taken for one of its. The
//       promise it is given belongs to it: if it drops that promise, the rejection is its own.
//   F3. Nothing is listened to here. Where the process is Tessera's, runtime's stray-failures.ts does that.

import { AsyncLocalStorage } from "node:async_hooks";

export interface ForeignCode {
  /** As an operator knows it: `extension guard`, `tool web__find (call tc_1)`. */
  readonly name: string;
  /** Called with a failure that was not awaited. */
  onStray(error: unknown): void;
}

const current = new AsyncLocalStorage<ForeignCode | undefined>();

/** Whose code runs now; undefined: Tessera's or that of the program around it. */
export function foreignCode(): ForeignCode | undefined {
  return current.getStore();
}

export function runForeign<T>(code: ForeignCode, work: () => T): T {
  return current.run(code, work);
}

/** F2 */
export function runOwn<T>(work: () => T): T {
  if (current.getStore() === undefined) return work();
  const made = current.run(undefined, work);
  return made instanceof Promise ? (made.then((value) => value) as T) : made;
}

/** An API of ours as foreign code is given it (F2): each of its functions runs outside of the caller's context. */
export function ownApi<T extends object>(api: T): T {
  const functions = Object.entries(api).map(([name, member]) => [
    name,
    typeof member === "function" ? (...args: unknown[]) => runOwn(() => member.apply(api, args)) : member,
  ]);
  return Object.fromEntries(functions) as T;
}
