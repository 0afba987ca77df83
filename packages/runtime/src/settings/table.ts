// Every setting of the product, as data: what `tessera doctor` prints, what the reference lists, what is read at a start.
//
//   S1. One row for each; nothing reads a flag, a TESSERA_ variable or a key of the file past this table. Flags that are
//       about one command (--input, --wait, --json) are no settings.
//   S2. A secret has neither a flag, which every user of the machine can read, nor a key of the file, which is committed.
//       A URL that may hold a password is shown without it.

import { LEASE_MS, SWEEP_INTERVAL_MS } from "@tessera/protocol";
import { API_HOST, API_PORT } from "../api/api-address.ts";
import { ROLES } from "../roles.ts";
import { BUILTIN_RESOURCES } from "../tools/tool-host.ts";

export type SettingType =
  /** A relative path in the file is relative to the file. */
  | { readonly kind: "path" }
  | { readonly kind: "postgres_url" | "nats_url" | "http_url" }
  | { readonly kind: "id" }
  | { readonly kind: "text" }
  | { readonly kind: "yes_no" }
  | { readonly kind: "number"; readonly min: number; readonly max: number; readonly whole: boolean }
  | { readonly kind: "choice"; readonly of: readonly string[] }
  /** Separated by commas, in the file also a list. Without `of` and `pattern` any names. */
  | { readonly kind: "list"; readonly of?: readonly string[]; readonly pattern?: RegExp; readonly items: string };

/** A setting: its type, default, flag, variable and key. */
export interface SettingSpec {
  readonly type: SettingType;
  /** Null: none; where that means something, `says` tells what. */
  readonly default: string | number | boolean | readonly string[] | null;
  readonly flag: string | null;
  readonly variable: string | null;
  /** Another name of the variable, looked at where the first is not set. */
  readonly alias?: string;
  /** In `settings` of the config file or of the Package. */
  readonly key: string | null;
  readonly isSecret: boolean;
  /** One sentence. */
  readonly says: string;
}

const PATH = { kind: "path" } as const;
const YES_NO = { kind: "yes_no" } as const;
const plain = { isSecret: false } as const;
const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A line of decision 15; read by the executor (credential-grants.ts), which says what is wrong with one of this shape. */
const CREDENTIAL = /^\S+ +\S+ +[^\s/]+\/\S*(?: +in +\S+)?$/;
/** `10.0.0.1`, `10.0.0.0/8`, `::1`, `fd00::/8`. */
const NETWORK =
  /^(?:(?:\d{1,3}\.){3}\d{1,3}(?:\/(?:[12]?\d|3[0-2]))?|[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*(?:\/(?:\d{1,2}|1[01]\d|12[0-8]))?)$/;
const HOST_NAME = /^[A-Za-z0-9.:[\]-]+$/;

/** All settings, by name. */
export const SETTINGS = {
  data: {
    ...plain,
    type: PATH,
    default: null,
    flag: "--data",
    variable: "TESSERA_DATA",
    key: "data",
    says: "The directory of an embedded store; one process at a time holds it.",
  },
  postgres: {
    ...plain,
    type: { kind: "postgres_url" },
    default: null,
    flag: "--postgres",
    variable: "TESSERA_POSTGRES",
    key: "postgres",
    says: "The URL of a PostgreSQL database as the store, for any number of processes.",
  },
  url: {
    ...plain,
    type: { kind: "http_url" },
    default: null,
    flag: "--url",
    variable: "TESSERA_URL",
    key: "url",
    says: "The address of a running API, for commands that ask it instead of opening a store.",
  },
  nats: {
    ...plain,
    type: { kind: "nats_url" },
    default: null,
    flag: "--nats",
    variable: "TESSERA_NATS",
    key: "nats",
    says: "The URL of a NATS server as the bus, or several of one cluster; without it the store's own notifications are used.",
  },
  api_key: {
    type: { kind: "text" },
    default: null,
    flag: null,
    variable: "TESSERA_API_KEY",
    key: null,
    isSecret: true,
    says: "The administrator's key of an API that this process serves, or the key to ask one with; generated if absent.",
  },
  project: {
    ...plain,
    type: { kind: "id" },
    default: "default",
    flag: "--project",
    variable: "TESSERA_PROJECT",
    key: "project",
    says: "The project whose agents and tools are meant.",
  },
  role: {
    ...plain,
    type: { kind: "list", of: ROLES, items: "roles" },
    default: ROLES,
    flag: "--role",
    variable: "TESSERA_ROLE",
    key: "role",
    says: "What a started process does: sweep (kernel), think (worker), delegate (pmo), run tools (tools), serve HTTP (api).",
  },
  host: {
    ...plain,
    type: { kind: "text" },
    default: API_HOST,
    flag: "--host",
    variable: "TESSERA_HOST",
    key: "host",
    says: "The address that the API listens on; anything but loopback is reachable from elsewhere.",
  },
  port: {
    ...plain,
    type: { kind: "number", min: 0, max: 65_535, whole: true },
    default: API_PORT,
    flag: "--port",
    variable: "TESSERA_PORT",
    key: "port",
    says: "The port that the API listens on; 0 takes any free one.",
  },
  allowed_hosts: {
    ...plain,
    type: { kind: "list", pattern: HOST_NAME, items: "host names" },
    default: null,
    flag: "--allowed-hosts",
    variable: "TESSERA_ALLOWED_HOSTS",
    key: "allowed_hosts",
    says: "Names besides loopback and the listening address that Host and Origin of a request may have.",
  },
  trusted_proxies: {
    ...plain,
    type: { kind: "list", pattern: NETWORK, items: "addresses or networks" },
    default: null,
    flag: "--trusted-proxies",
    variable: "TESSERA_TRUSTED_PROXIES",
    key: "trusted_proxies",
    says: "Addresses and networks (10.0.0.0/8) of the proxies before the API: limits and audit then count by the client that they name in X-Forwarded-For, which counts from no other address.",
  },
  god_api: {
    ...plain,
    type: YES_NO,
    default: false,
    flag: null,
    variable: "TESSERA_ENABLE_GOD_API",
    alias: "CG_ENABLE_GOD_API",
    key: "god_api",
    says: "Serves the God routes, with which an administrator acts in an agent's name.",
  },
  workspaces: {
    ...plain,
    type: PATH,
    default: null,
    flag: "--workspaces",
    variable: "TESSERA_WORKSPACES",
    key: "workspaces",
    says: "Where agents' working directories lie; beside the store if absent, and thrown away where the store has no directory.",
  },
  builtins: {
    ...plain,
    type: { kind: "list", of: BUILTIN_RESOURCES, items: "built-in tools" },
    default: null,
    flag: "--builtins",
    variable: "TESSERA_BUILTINS",
    key: "builtins",
    says: "Built-in tools to offer in the project besides those that its agents name.",
  },
  env_allow: {
    ...plain,
    type: { kind: "list", pattern: ENV_NAME, items: "names of environment variables" },
    default: null,
    flag: "--env-allow",
    variable: "TESSERA_ENV_ALLOW",
    key: "env_allow",
    says: "The only environment variables that tools may be given; absent: all that are not always refused.",
  },
  credentials: {
    ...plain,
    type: {
      kind: "list",
      pattern: CREDENTIAL,
      items: "grants like API_TOKEN GET|POST api.example.com/v1/{id} in x-api-key",
    },
    default: null,
    flag: "--credentials",
    variable: "TESSERA_CREDENTIALS",
    key: "credentials",
    says: "Operations that a credential may go out with besides those of the bundle: variable, methods (or *), host and path, in which {name} or * is a part of one segment and ** at the end all that follows; then `in` and the header that the credential goes into, where it is another than authorization. Requests with headers or query names that override the method (such as _method) are refused; bodies are not judged.",
  },
  allow_unconfined_shell: {
    ...plain,
    type: YES_NO,
    default: false,
    flag: "--allow-unconfined-shell",
    variable: "TESSERA_ALLOW_UNCONFINED_SHELL",
    key: "allow_unconfined_shell",
    says: "Lets the tool bash run without a sandbox where none can be made.",
  },
  hide_processes: {
    ...plain,
    type: YES_NO,
    default: false,
    flag: "--hide-processes",
    variable: "TESSERA_HIDE_PROCESSES",
    key: "hide_processes",
    says: "Runs isolated tools in a process namespace of their own, where they see neither this process nor its environment; it needs bubblewrap.",
  },
  store_wait_seconds: {
    ...plain,
    type: { kind: "number", min: 0, max: 3_600, whole: false },
    default: 60,
    flag: null,
    variable: "TESSERA_STORE_WAIT_SECONDS",
    key: "store_wait_seconds",
    says: "How long a process that starts waits for a PostgreSQL that is starting up, cannot be reached or takes no writes.",
  },
  grace_seconds: {
    ...plain,
    type: { kind: "number", min: 0, max: 3_600, whole: false },
    default: 30,
    flag: "--grace",
    variable: "TESSERA_GRACE_SECONDS",
    key: "grace_seconds",
    says: "How long running tools and turns may take to finish when the process is told to stop.",
  },
  concurrency: {
    ...plain,
    type: { kind: "number", min: 1, max: 10_000, whole: true },
    default: 16,
    flag: "--concurrency",
    variable: "TESSERA_CONCURRENCY",
    key: "concurrency",
    says: "How many turns, and how many calls of each target, run at once in this process.",
  },
  lease_seconds: {
    ...plain,
    type: { kind: "number", min: 1, max: 3_600, whole: false },
    default: LEASE_MS / 1_000,
    flag: "--lease",
    variable: "TESSERA_LEASE_SECONDS",
    key: "lease_seconds",
    says: "How long a worker or executor that was killed keeps what it held before others take it over.",
  },
  hang_seconds: {
    ...plain,
    type: { kind: "number", min: 0, max: 3_600, whole: false },
    default: null,
    flag: null,
    variable: "TESSERA_HANG_SECONDS",
    key: "hang_seconds",
    says: "How long the event loop of a process may stand still, as in an endless loop of an inline tool, before the process is ended with exit code 8; 0: for ever; if absent 10, and 30 with an embedded store.",
  },
  sweep_seconds: {
    ...plain,
    type: { kind: "number", min: 0.05, max: 5, whole: false },
    default: SWEEP_INTERVAL_MS / 1_000,
    flag: null,
    variable: "TESSERA_SWEEP_SECONDS",
    key: "sweep_seconds",
    says: "How often the role kernel looks for lapsed leases, deadlines and messages that were lost.",
  },
  log_level: {
    ...plain,
    type: { kind: "choice", of: ["debug", "info", "warn", "error"] },
    default: "info",
    flag: "--log-level",
    variable: "TESSERA_LOG_LEVEL",
    key: "log_level",
    says: "The least important lines that the log on stderr still has.",
  },
  cache_dir: {
    ...plain,
    type: PATH,
    default: null,
    flag: null,
    variable: "TESSERA_CACHE_DIR",
    key: null,
    says: "Where prepared empty stores are kept, which make the first start faster; the user's cache directory if absent.",
  },
} as const satisfies Readonly<Record<string, SettingSpec>>;

/** The name of a setting. */
export type SettingName = keyof typeof SETTINGS;
/** The names of all settings. */
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

type ValueOf<K> = K extends "yes_no"
  ? boolean
  : K extends "number"
    ? number
    : K extends "list"
      ? readonly string[]
      : string;

/** The values; a setting without a default may be undefined. */
export type Settings = {
  readonly [N in SettingName]:
    | ValueOf<(typeof SETTINGS)[N]["type"]["kind"]>
    | ((typeof SETTINGS)[N]["default"] extends null ? undefined : never);
};

export function specOf(name: SettingName): SettingSpec {
  return SETTINGS[name];
}
