// Flags of the commands that work with tools, and the node behind them.
//
//   N1. A call without a store gets a throw-away one in memory; everything that changes a project needs a store (F2).
//   N2. What a command opened it closes, newest first, whatever happens.

import { resolve } from "node:path";
import { type Node, openNode } from "@tessera/runtime";
import type { Command } from "commander";
import type { Terminal } from "./run-cli.ts";
import { addStoreFlags, chooseStore, type StoreFlags } from "./store-flags.ts";

export interface ProjectFlags extends StoreFlags {
  readonly nats?: string;
  readonly project: string;
  readonly json?: boolean;
}

export interface HostFlags extends ProjectFlags {
  readonly workspaces?: string;
  readonly builtins?: string;
  readonly allowUnconfinedShell?: boolean;
}

export function addProjectFlags(command: Command): Command {
  return addStoreFlags(command)
    .option("--nats <url>", "a NATS server as the bus (or TESSERA_NATS)")
    .option("--project <id>", "the project", "default")
    .option("--json", "print only JSON");
}

export function addHostFlags(command: Command): Command {
  return addProjectFlags(command)
    .option("--workspaces <dir>", "where agents' working directories lie (default: beside the store)")
    .option("--builtins <names>", "built-in tools to offer, separated by commas: bash, file-system, http-fetch, …")
    .option("--allow-unconfined-shell", "let bash run without a sandbox where none can be made");
}

export async function withNode<T>(
  flags: ProjectFlags,
  terminal: Terminal,
  options: { readonly throwAway?: boolean; readonly sweep?: boolean; readonly onWarning?: (warning: string) => void },
  work: (node: Node) => Promise<T>,
): Promise<T> {
  const isGiven = [flags.data, flags.postgres, terminal.env.TESSERA_DATA, terminal.env.TESSERA_POSTGRES].some(Boolean);
  const nats = flags.nats ?? (terminal.env.TESSERA_NATS || undefined);
  const node = await openNode({
    ...(options.throwAway === true && !isGiven ? {} : chooseStore(flags, terminal.env)), // N1
    ...(nats === undefined ? {} : { nats }),
    ...(options.sweep === undefined ? {} : { sweep: options.sweep }),
    onWarning: options.onWarning ?? ((warning) => terminal.err(`tessera: warning: ${warning}\n`)),
    onFatal: (error) => terminal.err(`tessera: the embedded database broke: ${error.message}\n`),
  });
  try {
    return await work(node);
  } finally {
    await node.close(); // N2
  }
}

/** What of the flags a tool host takes. */
export function hostOptions(flags: HostFlags, terminal: Terminal, bundle: string | undefined) {
  const builtins = flags.builtins?.split(",").map((name) => name.trim());
  return {
    project: flags.project,
    ...(bundle === undefined ? {} : { bundle: resolve(bundle) }),
    ...(builtins === undefined ? {} : { builtins }),
    ...(flags.workspaces === undefined ? {} : { workspaces: resolve(flags.workspaces) }),
    shell: { allowUnconfinedShell: flags.allowUnconfinedShell === true },
    env: terminal.env,
    executor: `tessera-${process.pid}`,
  };
}
