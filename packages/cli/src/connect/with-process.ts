// The process behind a command that works, not only asks: a store with roles, and its API.
//
//   P1. A run or a call without a store gets a throw-away one in memory; everything that changes a project needs a store
//       (store-flags.ts, F2).
//   P2. What was opened is closed again, whatever happens.
//   P3. A failure that code of the bundle leaves behind does not end the process, also while it is on its way out.

import { resolve } from "node:path";
import {
  openProcess,
  type Process,
  type ProcessOptions,
  processSettings,
  reportStrayFailures,
  type Settings,
} from "@tessera/runtime";
import type { HostFlags } from "../flags/flags.ts";
import { chooseStore, warnings } from "../flags/store-flags.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { type Api, clientOf } from "./connection.ts";

type Chosen = Partial<
  Pick<
    ProcessOptions,
    | "roles"
    | "builtins"
    | "storeWaitMs"
    | "stopping"
    | "migrate"
    | "api"
    | "beforeWork"
    | "onLog"
    | "onProgress"
    | "onWarning"
    | "isReloadable"
  >
>;

export async function withProcess<T>(
  order: {
    readonly flags: HostFlags;
    readonly settings: Settings;
    readonly terminal: Terminal;
    readonly bundle: string | undefined;
    /** True: without a store, one in memory will do (P1). */
    readonly isThrowAway: boolean;
    readonly graceMs: number;
    readonly options: Chosen;
  },
  work: (process: Process) => Promise<T>,
): Promise<T> {
  const { flags, settings, terminal, bundle, isThrowAway, graceMs, options } = order;
  if (!isThrowAway && settings.data === undefined && settings.postgres === undefined) chooseStore({}, {}); // P1: throws
  reportStrayFailures(process); // P3
  const opened = await openProcess({
    ...processSettings(settings),
    bundle: bundle === undefined ? undefined : resolve(bundle),
    env: terminal.env,
    executor: `tessera-${process.pid}`,
    onWarning: warnings(flags, terminal),
    onFatal: (error) => terminal.err(`tessera: the embedded database broke: ${error.message}\n`),
    graceMs,
    ...options,
  });
  const close = () => opened.close({ graceMs }); // P2
  const done = await work(opened).catch(async (error: unknown) => {
    await close().catch((cause: unknown) => terminal.err(`tessera: ${String(cause)}\n`));
    throw error;
  });
  await close();
  return done;
}

/** The API that the process serves, as its own command asks it. */
export async function ownApi({ api }: Process): Promise<Pick<Api, "client" | "clock">> {
  if (api === null) throw new Error("a process with the role api has an API");
  return await clientOf({ url: api.url, apiKey: api.key.text });
}
