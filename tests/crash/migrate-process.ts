// A migrator as a process of its own. The first argument is a `StoreAddress` as JSON; it opens the store, says `ready`,
// migrates when told to go on, and prints what it did.

import { once } from "node:events";
import { openPglite } from "@tessera/engines/pglite";
import { openPostgres } from "@tessera/engines/postgres";
import { migrate } from "@tessera/kernel";
import { killPointsFromEnvironment } from "@tessera/testkit/kill-points";
import type { StoreAddress } from "./node-process.ts";

export type MigratorMessage =
  | { readonly event: "ready" }
  | ({ readonly event: "migrated" } & Awaited<ReturnType<typeof migrate>>);

const store = JSON.parse(process.argv[2] ?? "") as StoreAddress;
const database =
  store.engine === "pglite"
    ? await openPglite({ directory: store.directory })
    : await openPostgres({ url: store.url, poolMax: 1 });

function say(message: MigratorMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

say({ event: "ready" });
await once(process.stdin, "data");
say({ event: "migrated", ...(await migrate(database, { killPoints: killPointsFromEnvironment() })) });
await database.close();
process.exit(0);
