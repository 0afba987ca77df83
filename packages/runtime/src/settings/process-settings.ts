// Settings as the options of a process.

import type { ProcessOptions } from "../open-process.ts";
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
  | "envAllowList"
  | "concurrencyMax"
  | "leaseMs"
  | "sweepIntervalMs"
  | "api"
>;

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
    envAllowList: settings.env_allow,
    concurrencyMax: settings.concurrency,
    leaseMs: settings.lease_seconds * 1_000,
    sweepIntervalMs: settings.sweep_seconds * 1_000,
    api: {
      host: settings.host,
      port: settings.port,
      apiKey: settings.api_key,
      allowedHosts: settings.allowed_hosts,
      isGodEnabled: settings.god_api,
    },
  };
}
