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
  | "hidesProcesses"
  | "envAllowList"
  | "credentials"
  | "concurrencyMax"
  | "leaseMs"
  | "hangMs"
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
    hidesProcesses: settings.hide_processes,
    envAllowList: settings.env_allow,
    credentials: settings.credentials,
    concurrencyMax: settings.concurrency,
    leaseMs: settings.lease_seconds * 1_000,
    hangMs: settings.hang_seconds * 1_000,
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
