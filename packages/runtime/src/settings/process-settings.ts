// Settings as the options of a process.

import type { ProcessOptions } from "../process/open-process.ts";
import type { Role } from "../roles.ts";
import type { Settings } from "./table.ts";

type FromSettings = Pick<
  ProcessOptions,
  | "data"
  | "postgres"
  | "nats"
  | "project"
  | "roles"
  | "builtins"
  | "workspaces"
  | "shell"
  | "hidesProcesses"
  | "envAllowList"
  | "credentials"
  | "concurrencyMax"
  | "leaseMs"
  | "hangMs"
  | "sweepIntervalMs"
  | "api"
>;

/**
 * Less than the lease of a worker on PostgreSQL, so that a hang is noted before others take up the turns of its process, hang as
 * well, or count its end as a crash of the turns beside it. A statement of an embedded store holds the loop itself, and nobody
 * else can take up its turns meanwhile.
 */
const HANG_SECONDS = 10;
const HANG_SECONDS_EMBEDDED = 30;

const hangSecondsOf = ({ postgres }: Settings): number =>
  postgres === undefined ? HANG_SECONDS_EMBEDDED : HANG_SECONDS;

/** Settings as what opens a process takes. */
export function processSettings(settings: Settings): FromSettings {
  return {
    data: settings.data,
    postgres: settings.postgres,
    nats: settings.nats,
    project: settings.project,
    roles: settings.role as readonly Role[],
    builtins: settings.builtins,
    workspaces: settings.workspaces,
    shell: { allowUnconfinedShell: settings.allow_unconfined_shell },
    hidesProcesses: settings.hide_processes,
    envAllowList: settings.env_allow,
    credentials: settings.credentials,
    concurrencyMax: settings.concurrency,
    leaseMs: settings.lease_seconds * 1_000,
    hangMs: (settings.hang_seconds ?? hangSecondsOf(settings)) * 1_000,
    sweepIntervalMs: settings.sweep_seconds * 1_000,
    api: {
      host: settings.host,
      port: settings.port,
      apiKey: settings.api_key,
      allowedHosts: settings.allowed_hosts,
      trustedProxies: settings.trusted_proxies,
      isGodEnabled: settings.god_api,
    },
  };
}
