// The flags that several commands share, as the parser sees them. What they mean is in store-flags.ts,
// server-flags.ts and host-settings.ts, which are loaded when a command runs (program.ts, P1).

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

/** Of commands that ask the API: of a server, of the process that holds a directory, or of themselves. */
export interface ApiFlags extends ProjectFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
}

export interface HostFlags extends ProjectFlags {
  readonly workspaces?: string;
  readonly builtins?: string;
  readonly allowUnconfinedShell?: boolean;
  readonly hideProcesses?: boolean;
  readonly concurrency?: string;
  readonly lease?: string;
  readonly envAllow?: string;
  readonly credentials?: string;
}

export function addStoreFlags(command: Command): Command {
  return command
    .option("--data <dir>", "an embedded store in this directory (or TESSERA_DATA)")
    .option("--postgres <url>", "a PostgreSQL database (or TESSERA_POSTGRES)")
    .option("--json", "print only JSON");
}

function addProjectFlags(command: Command): Command {
  return addStoreFlags(command)
    .option("--nats <url>", "a NATS server as the bus (or TESSERA_NATS)")
    .option("--project <id>", "the project (or TESSERA_PROJECT)", "default");
}

/** A key has no flag of its own: what is on a command line, every user of the machine can read. */
export function addServerFlags(command: Command): Command {
  return command
    .option("--url <url>", "a running server, with a key in TESSERA_API_KEY (or TESSERA_URL)")
    .option("--api-key-file <file>", "a file that holds the key, instead of TESSERA_API_KEY");
}

export function addApiFlags(command: Command): Command {
  return addServerFlags(addProjectFlags(command));
}

export function addHostFlags(command: Command): Command {
  return addProjectFlags(command)
    .option("--workspaces <dir>", "where agents' working directories lie (default: beside the store)")
    .option("--builtins <names>", "built-in tools to offer, separated by commas: bash, file-system, http-fetch, …")
    .option("--env-allow <names>", "the only variables that tools may be given, by commas (or TESSERA_ENV_ALLOW)")
    .option(
      "--credentials <grants>",
      "operations that a credential may go out with, by commas (or TESSERA_CREDENTIALS)",
    )
    .option("--concurrency <number>", "how many turns, and calls of each target, run at once (default 16)")
    .option("--lease <seconds>", "how soon others take over from a process that was killed (default 15)")
    .option("--allow-unconfined-shell", "let bash run without a sandbox where none can be made")
    .option("--hide-processes", "hide all other processes from isolated tools (needs bubblewrap)");
}

/** For a flag that may be repeated. */
export function collect(value: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), value];
}
