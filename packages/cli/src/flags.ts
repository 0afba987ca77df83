// The flags that several commands share, as the parser sees them. What they mean is in store-flags.ts and with-node.ts,
// which load a store and so are left until a command runs (program.ts, P1).

import type { Command } from "commander";

export interface StoreFlags {
  readonly data?: string;
  readonly postgres?: string;
  readonly json?: boolean;
}

export interface ProjectFlags extends StoreFlags {
  readonly nats?: string;
  readonly project: string;
}

export interface HostFlags extends ProjectFlags {
  readonly workspaces?: string;
  readonly builtins?: string;
  readonly allowUnconfinedShell?: boolean;
  readonly envAllow?: string;
}

export function addStoreFlags(command: Command): Command {
  return command
    .option("--data <dir>", "an embedded store in this directory (or TESSERA_DATA)")
    .option("--postgres <url>", "a PostgreSQL database (or TESSERA_POSTGRES)")
    .option("--json", "print only JSON");
}

export function addProjectFlags(command: Command): Command {
  return addStoreFlags(command)
    .option("--nats <url>", "a NATS server as the bus (or TESSERA_NATS)")
    .option("--project <id>", "the project", "default");
}

export function addHostFlags(command: Command): Command {
  return addProjectFlags(command)
    .option("--workspaces <dir>", "where agents' working directories lie (default: beside the store)")
    .option("--builtins <names>", "built-in tools to offer, separated by commas: bash, file-system, http-fetch, …")
    .option("--env-allow <names>", "the only variables that tools may be given, by commas (or TESSERA_ENV_ALLOW)")
    .option("--allow-unconfined-shell", "let bash run without a sandbox where none can be made");
}

/** For a flag that may be repeated. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
