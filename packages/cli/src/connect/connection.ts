// The API behind a command: that of a server, of the process that holds the directory, or of this process itself. So what a
// command does to a store it does in one way, whichever process has the store.
//
//   N1. --url or TESSERA_URL names a server; --data and --postgres name a store (server-flags.ts, store-flags.ts).
//   N2. A directory that a process holds is reached through that process; one that no process holds, and PostgreSQL, are opened
//       here, and this process serves the API to itself, on a port and with a key that no other process learns.
//   N3. Asking makes no store: a mistyped --data is an error, and no new directory.
//   N4. A process that holds the directory and is still starting is waited for, for a moment.
//   N5. A process that holds the directory may be another one after a while: a command that watches looks for it again.
//   N6. What was opened is closed again, whatever happens.

import { resolve } from "node:path";
import type { Client } from "@tessera/client";
import { TesseraError } from "@tessera/protocol";
import type { Node } from "@tessera/runtime";
import { EXIT } from "../exit-codes.ts";
import { checkId } from "../flags/flag-values.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { chooseServer } from "../flags/server-flags.ts";
import { isApiProblem, isUnknownPath } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";

export type Clock = Node["clock"];

export interface Api {
  readonly client: Client;
  readonly clock: Clock;
  readonly reached: "server" | "holder" | "own";
  /** For people: an address, or the name of a store. */
  readonly name: string;
  /** No process works on this store: it is a directory that only this command has open. */
  readonly isAbandoned: boolean;
  /** The client of the process that holds the directory by now; null: none answers (N5). */
  readonly renew?: (() => Promise<Client | null>) | undefined;
}

const STARTING_MS_MAX = 4_000;
const LOOK_AGAIN_MS = 100;

export async function withApi<T>(flags: ApiFlags, terminal: Terminal, work: (api: Api) => Promise<T>): Promise<T> {
  checkId("--project", flags.project);
  const running = await reachRunning(flags, terminal);
  if (running !== null) return await askOf(running, work);
  try {
    return await withOwnApi(flags, terminal, work);
  } catch (error) {
    const started = await startedHolder(error, flags, terminal);
    if (started === null) throw error;
    return await work(started);
  }
}

/** Says at which address there is no such path: the answer does not. */
export async function askOf<T>(api: Api, work: (api: Api) => Promise<T>): Promise<T> {
  try {
    return await work(api);
  } catch (error) {
    if (api.reached !== "server" || !isApiProblem(error) || !isUnknownPath(error)) throw error;
    const todo = "Correct --url or TESSERA_URL: give the address as the server prints it when it starts.";
    throw errorWithTodo(
      "not_found",
      `${api.name} is not the API's address: ${error.message}`,
      todo,
      EXIT.configuration,
    );
  }
}

/** N4: after an error that says that the directory is in use, its holder, once it answers; null: it does not. */
export async function startedHolder(
  error: unknown,
  flags: Omit<ApiFlags, "project">,
  terminal: Pick<Terminal, "env">,
): Promise<Api | null> {
  if (!TesseraError.is(error) || error.code !== "store_in_use") return null;
  const { systemClock: clock } = await import("@tessera/runtime");
  const until = clock.monotonicMs() + STARTING_MS_MAX;
  while (clock.monotonicMs() < until) {
    const running = await reachRunning(flags, terminal);
    if (running !== null) return running;
    await new Promise<void>((resolve) => clock.after(LOOK_AGAIN_MS, resolve));
  }
  return null;
}

/** The API of a process that runs already; null: the store is this command's to open. */
export async function reachRunning(
  flags: Omit<ApiFlags, "project">,
  terminal: Pick<Terminal, "env">,
): Promise<Api | null> {
  const server = chooseServer(flags, terminal.env); // N1
  if (server !== null) {
    return { ...(await clientOf(server)), reached: "server", name: server.url, isAbandoned: false };
  }
  const { chooseStore } = await import("../flags/store-flags.ts");
  const { data } = chooseStore(flags, terminal.env, "or_server");
  if (data === undefined) return null;
  const holder = await holderOf(data);
  if (holder === null) return null;
  const renew = async () => (await holderOf(data))?.client ?? null; // N5
  return { ...holder, reached: "holder", name: resolve(data), isAbandoned: false, renew };
}

async function holderOf(data: string): Promise<Pick<Api, "client" | "clock"> | null> {
  const { reachHolder } = await import("@tessera/runtime");
  const holder = await reachHolder(data);
  return holder === null ? null : await clientOf({ url: holder.url, apiKey: holder.key });
}

/** Opens the store and serves its API to this process alone (N2). Nothing is swept: the processes that work on it do that. */
async function withOwnApi<T>(flags: ApiFlags, terminal: Terminal, work: (api: Api) => Promise<T>): Promise<T> {
  const [{ openNode, openSelfApi }, { chooseStore, warnings }] = await Promise.all([
    import("@tessera/runtime"),
    import("../flags/store-flags.ts"),
  ]);
  const onWarning = warnings(flags, terminal);
  const node = await openNode({
    ...chooseStore(flags, terminal.env),
    nats: flags.nats ?? (terminal.env.TESSERA_NATS || undefined),
    sweep: false,
    migrate: "check", // N3
    onWarning,
    onFatal: (error) => terminal.err(`tessera: the embedded database broke: ${error.message}\n`),
  });
  try {
    const { url, key, close } = await openSelfApi(node, { onWarning });
    try {
      const { place } = node.store;
      const api = await clientOf({ url, apiKey: key.text });
      return await work({ ...api, reached: "own", name: place.name, isAbandoned: place.kind === "directory" });
    } finally {
      await close(); // N6
    }
  } finally {
    await node.close(); // N6
  }
}

export async function clientOf(address: {
  readonly url: string;
  readonly apiKey: string;
}): Promise<Pick<Api, "client" | "clock">> {
  const [{ createClient }, { systemClock }] = await Promise.all([
    import("@tessera/client"),
    import("@tessera/runtime"),
  ]);
  return { client: createClient(address), clock: systemClock };
}
