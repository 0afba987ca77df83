// What `tessera doctor` asks of a database, also of one that is not at this build's schema. Nothing here writes.
//
//   D1. The server and the migrations can be asked of any database; the rest needs the schema.

import type { Database, Row } from "../ports.ts";
import type { InstalledFunctions } from "./functions-level.ts";
import { sqlQuery } from "./sql-files.ts";

export interface ServerFacts extends Row {
  /** As `server_version_num` has it: 170002. */
  readonly version: number;
  readonly clock_ms: number;
  readonly role_name: string;
  readonly is_superuser: boolean;
  /** Whether a transaction may outlive its session (PREPARE TRANSACTION), with what it has locked. */
  readonly may_prepare: boolean;
}

interface RoleRights extends Row {
  /** Of schema l0; 0: there is none. */
  readonly functions: number;
  readonly callable: number;
  readonly may_create: boolean;
}

export interface UnclaimedCalls extends Row {
  readonly target_subject: string;
  readonly calls: number;
  /** Since the oldest of them was made. */
  readonly seconds: number;
}

export interface LivingKey extends Row {
  readonly key_id: string;
  readonly role: string;
  readonly expires_at: string | null;
  readonly is_ending: boolean;
}

export interface DoctorReads {
  server(): Promise<ServerFacts>;
  rights(): Promise<RoleRights>;
  /** Empty for a database without a schema of ours. */
  migrations(): Promise<{ readonly version: number; readonly is_breaking: boolean }[]>;
  /** Of a store at this build's schema. */
  functions(): Promise<InstalledFunctions>;
  /** Whether sessions that keep rows locked can be ended, and whether there are logins that could keep one. */
  watchdog(): Promise<{ readonly may: boolean; readonly needed: boolean }>;
  /** Of tools and readers, without a limit of connections. */
  unboundedLogins(): Promise<{ readonly login: string }[]>;
  /** For how many seconds work has been due that no sweeper looked at; 0: none is. */
  oldestDueSeconds(): Promise<number>;
  /** Calls that no executor took for so long. */
  unclaimed(projectId: string, seconds: number): Promise<UnclaimedCalls[]>;
  workers(): Promise<{ readonly worker_target: string; readonly alive: number }[]>;
  /** Turns that were given out for so long and that no worker took. */
  waitingTurns(
    projectId: string,
    seconds: number,
  ): Promise<{ readonly worker_target: string; readonly turns: number }[]>;
  /** Keys that count in the project now. */
  keys(projectId: string, endingWithinDays: number): Promise<LivingKey[]>;
}

export function createDoctorReads(database: Database): DoctorReads {
  const all = <R extends Row>(name: string, ...values: unknown[]) => database.query<R>(sqlQuery(name), values);
  const one = async <R extends Row>(name: string): Promise<R> => {
    const [row] = await all<R>(name);
    if (row === undefined) throw new Error(`${name} answered no row`);
    return row;
  };
  return {
    server: () => one("doctor_server"),
    rights: () => one("doctor_rights"),
    async migrations() {
      const [found] = await all<{ there: boolean }>("migrations_table_exists");
      return found?.there === true ? await all("migrations_recorded") : []; // D1
    },
    async functions() {
      const [row] = await all<NonNullable<InstalledFunctions>>("functions_installed");
      return row ?? null;
    },
    async watchdog() {
      const { watch } = await one<{ watch: { may: boolean; needed: boolean } }>("doctor_watchdog");
      return watch;
    },
    unboundedLogins: () => all("doctor_unbounded_logins"),
    async oldestDueSeconds() {
      const { seconds } = await one<{ seconds: number }>("oldest_due");
      return seconds;
    },
    unclaimed: (project, seconds) => all("doctor_unclaimed", project, seconds),
    workers: () => all("doctor_workers"),
    waitingTurns: (project, seconds) => all("doctor_waiting_turns", project, seconds),
    keys: (project, days) => all("doctor_keys", project, days),
  };
}
