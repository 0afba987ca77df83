// The parts of a process that do work: tools, agents, delegation.
//
//   O1. Opened in the order tools, agents, calls asked for by hand, and closed in the reverse one. A start that fails half
//       way closes what it had opened.
//   O2. Workers run inline and isolated tools themselves, so they load the bundle, too; only the role tools serves targets.

import { type Agents, type Node, openAgents, openToolHost, startToolCaller, type ToolHost } from "@tessera/runtime";
import type { Role } from "./roles.ts";
import type { hostOptions } from "./with-node.ts";

type LogEntry = Parameters<NonNullable<Parameters<typeof openToolHost>[0]["onLog"]>>[0];

export interface OpenRoles {
  /** Null: none of the roles needs tools. */
  readonly host: ToolHost | null;
  /** Null: none of the roles is an agent's. */
  readonly agents: Agents | null;
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export async function openRoles(options: {
  readonly node: Node;
  readonly roles: ReadonlySet<Role>;
  readonly host: ReturnType<typeof hostOptions>;
  readonly onLog: (entry: LogEntry) => void;
  readonly onWarning: (warning: string) => void;
}): Promise<OpenRoles> {
  const { node, roles, onLog, onWarning } = options;
  const { project, env } = options.host;
  const agentRoles = (["worker", "pmo"] as const).filter((role) => roles.has(role));
  const isServing = roles.has("tools");
  if (agentRoles.length === 0 && !isServing) return { host: null, agents: null, close: async () => undefined };
  let grace: { readonly graceMs?: number } = {};
  const closing: (() => Promise<void>)[] = [];
  const close = async (given: typeof grace = {}) => {
    grace = given;
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    const host = await openToolHost({ ...options.host, node, serve: isServing, onLog, onWarning }); // O2
    closing.push(() => host.close(grace));
    const agents =
      agentRoles.length === 0
        ? null
        : await openAgents({ node, host, project, env, roles: agentRoles, onLog, onWarning });
    closing.push(async () => await agents?.close(grace));
    if (isServing) {
      const { runner, isHosted } = host;
      const caller = await startToolCaller({ ...node, project, runner, isHosted, onLog, onWarning });
      closing.push(() => caller.stop(grace));
    }
    return { host, agents, close };
  } catch (error) {
    await close().catch((cause) => onWarning(`closing after a failed start: ${String(cause)}`)); // O1
    throw error;
  }
}
