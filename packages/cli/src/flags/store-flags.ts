// Which store a command works on: --data or --postgres, or TESSERA_DATA or TESSERA_POSTGRES where no flag is given.
//
//   F1. A flag wins over the environment, whichever of the two it is: `--data x` is meant even where TESSERA_POSTGRES is set.
//   F2. No command guesses a store.

import { BadRequest } from "@tessera/protocol";
import { openStore, type Store, type StoreOptions } from "@tessera/runtime";
import { sentence, type Terminal } from "../output/printing-gate.ts";
import type { StoreFlags } from "./flags.ts";

type StoreChoice = Pick<StoreFlags, "data" | "postgres">;

/** `or_server`: for a command that would ask a server just as well. */
export function chooseStore(flags: StoreChoice, env: Terminal["env"], other?: "or_server"): StoreChoice {
  if (flags.data !== undefined && flags.postgres !== undefined) {
    throw new BadRequest("cannot choose a store: --data and --postgres were both given; give one of them");
  }
  if (flags.data !== undefined) return { data: flags.data };
  if (flags.postgres !== undefined) return { postgres: flags.postgres };
  // An empty variable counts as unset.
  const data = env.TESSERA_DATA || undefined;
  const postgres = env.TESSERA_POSTGRES || undefined;
  if (data !== undefined && postgres !== undefined) {
    throw new BadRequest(
      "cannot choose a store: TESSERA_DATA and TESSERA_POSTGRES are both set; give --data or --postgres",
    );
  }
  if (data !== undefined) return { data };
  if (postgres !== undefined) return { postgres };
  throw new BadRequest(
    other === "or_server"
      ? "no store was given; give --data DIR, --postgres URL or the --url of a running server, or set TESSERA_DATA, TESSERA_POSTGRES or TESSERA_URL"
      : "no store was given; give --data DIR or --postgres URL, or set TESSERA_DATA or TESSERA_POSTGRES",
  );
}

/** For people; a program that reads JSON gets what it can act on in the answer. */
export function warnings({ json }: StoreFlags, terminal: Terminal): (warning: string) => void {
  return (warning) => (json === true ? undefined : terminal.err([sentence(`tessera: warning: ${warning}`)]));
}

/** Opens the chosen store, runs `work` on it and closes it again, whatever happens. */
export async function withStore<T>(
  flags: StoreFlags,
  how: Pick<StoreOptions, "migrate" | "allowOlderFunctions">,
  terminal: Terminal,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore({
    ...chooseStore(flags, terminal.env),
    ...how,
    onWarning: warnings(flags, terminal),
    onFatal: () => {}, // the statement that broke the database fails with the same error, and so does the command
  });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
