// The node behind a command that works with a project, and its share of the flags.
//
//   N1. A call without a store gets a throw-away one in memory; everything that changes a project needs a store (F2).
//   N2. What a command opened it closes, newest first, whatever happens.
//   N3. Looking at a store does not make one: a mistyped --data is told, not filled.

import { resolve } from "node:path";
import { BUILTIN_RESOURCES, type Node, type NodeOptions, openNode } from "@tessera/runtime";
import { checkId, readChoices, readNames } from "./flag-values.ts";
import type { HostFlags, ProjectFlags } from "./flags.ts";
import type { Terminal } from "./run-cli.ts";
import { chooseStore, warnings } from "./store-flags.ts";

/** For commands that only look, or only take away (N3). */
export const LOOKING = { sweep: false, migrate: "check" } as const;
/** For commands that put something into a project and run nothing. */
export const WRITING = { sweep: false } as const;

export async function withNode<T>(
  flags: ProjectFlags,
  terminal: Terminal,
  options: Partial<Pick<NodeOptions, "sweep" | "migrate" | "onWarning">> & { readonly throwAway?: boolean },
  work: (node: Node) => Promise<T>,
): Promise<T> {
  checkId("--project", flags.project);
  const { throwAway = false, ...given } = options;
  const isGiven = [flags.data, flags.postgres, terminal.env.TESSERA_DATA, terminal.env.TESSERA_POSTGRES].some(Boolean);
  const nats = flags.nats ?? (terminal.env.TESSERA_NATS || undefined);
  const node = await openNode({
    ...(throwAway && !isGiven ? {} : chooseStore(flags, terminal.env)), // N1
    ...(nats === undefined ? {} : { nats }),
    onWarning: warnings(flags, terminal),
    onFatal: (error) => terminal.err(`tessera: the embedded database broke: ${error.message}\n`),
    ...given,
  });
  try {
    return await work(node);
  } finally {
    await node.close(); // N2
  }
}

/** What of the flags a tool host takes. */
export function hostOptions(flags: HostFlags, terminal: Terminal, bundle: string | undefined) {
  const builtins =
    flags.builtins === undefined ? undefined : readChoices("--builtins", flags.builtins, BUILTIN_RESOURCES);
  return {
    project: flags.project,
    ...(bundle === undefined ? {} : { bundle: resolve(bundle) }),
    ...(builtins === undefined ? {} : { builtins }),
    ...(flags.workspaces === undefined ? {} : { workspaces: resolve(flags.workspaces) }),
    shell: { allowUnconfinedShell: flags.allowUnconfinedShell === true },
    env: terminal.env,
    envAllowList: envAllowList(flags, terminal),
    executor: `tessera-${process.pid}`,
  };
}

/** The environment variables that a tool may be given; undefined: all that are not always refused. */
export function envAllowList(flags: HostFlags, { env }: Terminal): string[] | undefined {
  if (flags.envAllow !== undefined) return readNames("--env-allow", flags.envAllow);
  return env.TESSERA_ENV_ALLOW ? readNames("TESSERA_ENV_ALLOW", env.TESSERA_ENV_ALLOW) : undefined;
}
