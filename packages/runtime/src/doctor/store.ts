// The store: a directory or a database, looked at without changing it.
//
//   S1. A directory that is held is not opened: its holder answers for it. One that is not there is not made.
//   S2. A database is opened as it is, whatever schema it has.

import { access, constants, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Database, storeIdOf } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { findHolder } from "../store/holder.ts";
import { openStore } from "../store/open-store.ts";
import { type StorePlace, storePlace } from "../store/store-place.ts";
import { type Check, checksOf, saidBy } from "./check.ts";
import { databaseChecks } from "./database.ts";
import { lookAtApi } from "./server.ts";
import { workChecks } from "./work.ts";

const store = checksOf("store");
const keys = checksOf("keys");
const FREE_BYTES_MIN = 1024 ** 3;
const OTHERS_MAY = 0o077;
const SCHEMA_CHECKS: ReadonlySet<string> = new Set(["migrations", "functions"]);
const UNREACHABLE_KINDS: ReadonlySet<unknown> = new Set(["unavailable", "connection_lost", "locked"]);

export interface StoreChoice {
  readonly data?: string | undefined;
  readonly postgres?: string | undefined;
  readonly project: string;
}

/** `hearId` is told which store it is, where that can be seen. */
export async function checkStore(
  { data, postgres, project }: StoreChoice,
  hearId: (storeId: string) => void = () => {},
): Promise<Check[]> {
  const place = storePlace({ data, postgres });
  if (place.kind === "memory")
    return [store.ok("store", "no store was named: commands that need none keep theirs in memory")];
  if (place.kind === "directory") {
    const checks = await directoryChecks(place.directory);
    const isHeld = checks.some(({ name }) => name === "holder");
    const isThere = await exists(join(place.directory, "store"));
    if (isHeld || !isThere || checks.some(({ status }) => status === "fail")) return checks; // S1
    return [...checks, ...(await insideChecks(place, project, hearId))];
  }
  return await insideChecks(place, project, hearId);
}

async function directoryChecks(directory: string): Promise<Check[]> {
  const there = (await exists(directory)) ? directory : await nearestDirectory(directory);
  const isMade = there === directory;
  const checks: Check[] = [];
  try {
    await access(there, constants.R_OK | constants.W_OK | constants.X_OK);
    const found = isMade ? `${directory} can be written` : `${directory} is not there yet and can be made`;
    checks.push(store.ok("directory", found));
  } catch (error) {
    const fix = "Name a directory that this user may write.";
    return [store.wrong("directory", `${there} cannot be written: ${(error as NodeJS.ErrnoException).code}`, fix)];
  }
  checks.push(await diskCheck(there));
  if (isMade) checks.push(...(await holderChecks(directory)), ...(await keyFileChecks(directory)));
  return checks;
}

async function diskCheck(directory: string): Promise<Check> {
  const { bavail, bsize } = await statfs(directory);
  const freeBytes = bavail * bsize;
  const found = `${(freeBytes / FREE_BYTES_MIN).toFixed(1)} GiB are free`;
  if (freeBytes >= FREE_BYTES_MIN) return store.ok("disk", found);
  return store.warn("disk", found, "Make room: a store that cannot grow stops all work.");
}

/** S1: what is inside is the holder's to tell. */
async function holderChecks(directory: string): Promise<Check[]> {
  const holder = await findHolder(directory);
  if (holder === null) return [];
  const { pid, startedAt, reached } = holder;
  const found = `held by process ${pid} since ${startedAt}`;
  const left = "database, schema, executors, workers and stored keys were not looked at";
  if (reached === null) {
    const fix = "Wait until that process ends, or stop it; it serves no API that this user can reach.";
    return [store.warn("holder", `${found}; ${left}`, fix)];
  }
  const says = `${found}; its API at ${reached.url} answers, and commands go there; ${left}: they are its own`;
  const { status, says: wrong } = await lookAtHolder(reached.url);
  if (status === "ok") return [store.ok("holder", `${says}, and it says ok`)];
  const fix = "Look at its log; stop it and run doctor again to look at the store itself.";
  return [store.warn("holder", `${says}, and it says ${[status, ...wrong].join(": ")}`, fix)];
}

async function lookAtHolder(url: string): Promise<{ readonly status: string; readonly says: readonly string[] }> {
  const look = await lookAtApi(url);
  return look.kind === "tessera" ? look : { status: look.says, says: [] };
}

async function keyFileChecks(directory: string): Promise<Check[]> {
  const file = join(directory, "key");
  const found = await stat(file).catch(() => null);
  if (found === null || process.platform === "win32") return [];
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if ((found.mode & OTHERS_MAY) === 0) return [keys.ok("key file", `${file} has mode ${mode}`)];
  return [
    keys.wrong("key file", `${file} has mode ${mode}: others may read it`, `Run chmod 600 ${file}, and restart.`),
  ];
}

async function insideChecks(
  place: Exclude<StorePlace, { kind: "memory" }>,
  project: string,
  hearId: (storeId: string) => void,
): Promise<Check[]> {
  let database: Database;
  try {
    const choice = place.kind === "postgres" ? { postgres: place.url } : { data: place.directory };
    ({ database } = await openStore({ ...choice, migrate: "no", onWarning: () => {}, onFatal: () => {} })); // S2
  } catch (error) {
    return [openFailure(error)];
  }
  try {
    const checks = await databaseChecks(database, place.name);
    const isUsable = checks.every(({ name, status }) => !SCHEMA_CHECKS.has(name) || status !== "fail");
    if (!isUsable) return checks;
    return [...checks, await idCheck(database, hearId), ...(await workChecks(database, project))];
  } catch (error) {
    return [store.unreachable("database", `it stopped answering: ${saidBy(error)}`, "Repeat.")];
  } finally {
    await database.close();
  }
}

async function idCheck(database: Database, hearId: (storeId: string) => void): Promise<Check> {
  try {
    const storeId = await storeIdOf(database);
    hearId(storeId);
    return store.ok("id", `this is ${storeId}`);
  } catch (error) {
    const fix = "Run `tessera migrate` and deploy/roles.sql of this release.";
    return store.warn("id", `which store this is cannot be read: ${saidBy(error)}`, fix);
  }
}

function openFailure(error: unknown): Check {
  const kind = TesseraError.is(error) ? error.details.kind : undefined;
  if (UNREACHABLE_KINDS.has(kind)) {
    const fix = "Check that the database runs and that the address is right.";
    return store.unreachable("database", saidBy(error), fix);
  }
  return store.wrong(
    "database",
    saidBy(error),
    "Check the address, user, password and database name, and the server's version.",
  );
}

async function nearestDirectory(path: string): Promise<string> {
  const parent = dirname(path);
  return parent === path || (await exists(parent)) ? parent : await nearestDirectory(parent);
}

async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}
