// An open database: its version, its clock, what the role may do, and whether its schema is this build's.

import { systemClock } from "@tessera/engines/system";
import {
  createDoctorReads,
  type Database,
  DatabaseError,
  type DoctorReads,
  FUNCTIONS_LEVEL,
  functionsAge,
  isReadOnly,
  MIGRATIONS,
  NO_WATCHDOG,
  SCHEMA_VERSION,
  type ServerFacts,
  unusableFunctions,
} from "@tessera/kernel";
import { CLOCK_DIFFERENCE_MS_MAX } from "./broker.ts";
import { type Check, checksOf, wallMs } from "./check.ts";

const store = checksOf("store");
const VERSION_MIN = 15;

export async function databaseChecks(database: Database, name: string): Promise<Check[]> {
  const reads = createDoctorReads(database);
  const before = wallMs(systemClock);
  const server = await reads.server();
  const after = wallMs(systemClock);
  const checks: Check[] = [];
  const isServer = database.capabilities.engine === "postgres";
  const major = Math.floor(server.version / 10_000);
  const found = `${name}, PostgreSQL ${major}${isServer ? "" : " (embedded)"}`;
  checks.push(
    major >= VERSION_MIN
      ? store.ok("database", found)
      : store.wrong("database", found, `Use PostgreSQL ${VERSION_MIN} or newer.`),
  );
  if (isServer) {
    checks.push(clockCheck(server.clock_ms - (before + after) / 2));
    checks.push(await rightsCheck(reads, server));
    checks.push(...(await loginChecks(reads)));
    if (await isReadOnly(database)) {
      const fix = "Make the database writable, or name its primary.";
      checks.push(store.unreachable("writes", "the database takes no writes: a standby, or told to be read-only", fix));
    }
  }
  const migrations = await migrationsCheck(reads);
  checks.push(migrations);
  if (migrations.status === "fail") return checks;
  const functions = await functionsCheck(reads);
  checks.push(functions);
  if (isServer && functions.status !== "fail") checks.push(...(await watchdogChecks(reads, server)));
  return checks;
}

function clockCheck(differenceMs: number): Check {
  const found = `the database's clock differs from this machine's by ${Math.abs(Math.round(differenceMs))} ms`;
  if (Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MS_MAX) return store.ok("clock", found);
  return store.warn("clock", found, "Let both machines set their clocks (chrony, systemd-timesyncd).");
}

async function rightsCheck(
  reads: DoctorReads,
  { is_superuser, role_name }: Pick<ServerFacts, "is_superuser" | "role_name">,
): Promise<Check> {
  if (is_superuser) {
    const fix = "Connect as a role with fewer rights (deploy/roles.sql).";
    return store.warn("role", `${role_name} is a superuser: a client with this URL may do anything`, fix);
  }
  const { functions, callable, may_create } = await reads.rights();
  if (functions === 0) {
    const found = `${role_name} may ${may_create ? "" : "not "}make schemas; there are none of Tessera yet`;
    const fix = "Run `tessera migrate` as the owner of the database.";
    return may_create ? store.ok("role", found) : store.wrong("role", found, fix);
  }
  const found = `${role_name} may call ${callable} of the ${functions} functions of schema l0`;
  if (callable > 0) return store.ok("role", found);
  return store.wrong("role", found, "Grant the role what its process needs (deploy/roles.sql).");
}

/** Nothing where every login has a limit. */
async function loginChecks(reads: DoctorReads): Promise<Check[]> {
  const logins = (await reads.unboundedLogins()).map(({ login }) => login);
  if (logins.length === 0) return [];
  const found = `${logins.join(", ")}: may take every connection of the server, and the processes then get none`;
  const fix = `Give each a limit, such as: alter role ${logins[0]} connection limit 10.`;
  return [store.warn("logins", found, fix)];
}

/** Nothing where this role may not ask, or no login could keep a row locked. */
async function watchdogChecks(reads: DoctorReads, { may_prepare }: Pick<ServerFacts, "may_prepare">): Promise<Check[]> {
  try {
    const { may, needed } = await reads.watchdog();
    if (!needed) return [];
    if (may && may_prepare) {
      const found =
        "max_prepared_transactions is not 0: a tool's login can leave rows locked without a session that could be ended";
      const fix = "Set max_prepared_transactions to 0, PostgreSQL's default, or look into pg_prepared_xacts.";
      return [store.warn("watchdog", found, fix)];
    }
    if (may) return [store.ok("watchdog", "sessions that keep rows locked are ended by the sweeper")];
    const fix = "Run deploy/roles.sql as a superuser; until then end such sessions yourself (pg_terminate_backend).";
    return [store.warn("watchdog", NO_WATCHDOG, fix)];
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "forbidden") return [];
    throw error;
  }
}

async function migrationsCheck(reads: DoctorReads): Promise<Check> {
  const rows = await reads.migrations();
  const newest = Math.max(0, ...rows.map(({ version }) => version));
  const fix = "Run `tessera migrate` with the same --data or --postgres.";
  if (newest === 0) return store.wrong("migrations", "there is no schema of Tessera in it", fix);
  if (newest < SCHEMA_VERSION) {
    const behind = MIGRATIONS.filter(({ version }) => version > newest).map(({ name }) => name);
    return store.wrong(
      "migrations",
      `schema ${newest}; this build needs ${SCHEMA_VERSION} (${behind.join(", ")})`,
      fix,
    );
  }
  if (newest === SCHEMA_VERSION) return store.ok("migrations", `schema ${newest}, that of this build`);
  const found = `schema ${newest}, newer than this build's ${SCHEMA_VERSION}`;
  const isBreaking = rows.some(({ version, is_breaking }) => is_breaking && version > SCHEMA_VERSION);
  const upgrade = "Upgrade this process to the build that migrated the store.";
  return isBreaking
    ? store.wrong("migrations", `${found}, and not compatible with it`, upgrade)
    : store.warn("migrations", found, upgrade);
}

/** A store at this build's schema may still have the functions of another build. */
async function functionsCheck(reads: DoctorReads): Promise<Check> {
  const installed = await reads.functions();
  const wrong = unusableFunctions(installed);
  if (wrong !== null) {
    return store.wrong("functions", wrong, "Run `tessera migrate` of this build with the same --data or --postgres.");
  }
  if (functionsAge(installed) === "same") return store.ok("functions", `level ${FUNCTIONS_LEVEL}, those of this build`);
  const found = `level ${installed?.level}, newer than this build's ${FUNCTIONS_LEVEL}; they serve it`;
  return store.warn("functions", found, "Upgrade this process to the build that migrated the store.");
}
