// An open database: its version, its clock, what the role may do, and whether its schema is this build's.

import { systemClock } from "@tessera/engines/system";
import {
  createDoctorReads,
  type Database,
  type DoctorReads,
  MIGRATIONS,
  SCHEMA_VERSION,
  type ServerFacts,
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
  }
  checks.push(await migrationsCheck(reads));
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
    return store.warn("role", `${role_name} is a superuser: whoever gets this URL may do anything`, fix);
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
