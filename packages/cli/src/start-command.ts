// tessera start: a process with roles, until it is told to stop.
//
//   S1. Started in the order store, tools, API; stopped in the reverse one. Running tools get the grace to finish.
//   S2. The address and a generated key are printed once on stdout; the log is JSON lines on stderr.

import { BadRequest } from "@tessera/protocol";
import { API_PORT, type Api, openApi, openLog, openToolHost, startToolCaller, type ToolHost } from "@tessera/runtime";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { redact } from "./redact.ts";
import type { Terminal } from "./run-cli.ts";
import { type HostFlags, hostOptions, withNode } from "./tool-flags.ts";

export const ROLES = ["kernel", "tools", "api"] as const;
type Role = (typeof ROLES)[number];

export interface StartFlags extends HostFlags {
  readonly role: string;
  readonly host?: string;
  readonly port?: string;
  readonly allowedHosts?: string;
  readonly grace?: string;
}

export async function startCommand(
  bundle: string | undefined,
  flags: StartFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const roles = readRoles(flags.role);
  const port = readNumber(flags.port ?? String(API_PORT), "--port", 0, 65_535);
  const graceMs = readNumber(flags.grace ?? "30", "--grace", 0, 3_600) * 1_000;
  const log = openLog((line) => terminal.err(redact(line)));
  const stopped = terminal.stopped();
  const sweep = roles.has("kernel");
  return await withNode(flags, terminal, { sweep, onWarning: log.warn }, async (node) => {
    const closing: (() => Promise<void>)[] = [];
    try {
      let host: ToolHost | null = null;
      if (roles.has("tools")) {
        const opened = await openToolHost({
          ...hostOptions(flags, terminal, bundle),
          node,
          onLog: log.tool,
          onWarning: log.warn,
        });
        host = opened;
        closing.push(() => opened.close({ graceMs }));
        const caller = await startToolCaller({
          ...node,
          runner: opened.runner,
          isHosted: opened.isHosted,
          workerId: node.ids.mint("worker"),
          onLog: log.tool,
          onWarning: log.warn,
        });
        closing.push(() => caller.stop());
      }
      const api = roles.has("api") ? await openApiOf(flags, terminal, node, port, log.warn) : null;
      if (api !== null) closing.push(() => api.close());
      tellStarted({ roles: [...roles], host, api, flags, terminal });
      await stopped;
      log.info("stopping");
      return EXIT.ok;
    } finally {
      for (const close of closing.reverse()) await close(); // S1
    }
  });
}

function openApiOf(
  flags: StartFlags,
  terminal: Terminal,
  node: Parameters<typeof openApi>[0]["node"],
  port: number,
  onWarning: (warning: string) => void,
): Promise<Api> {
  const allowedHosts = flags.allowedHosts?.split(",").map((name) => name.trim());
  return openApi({
    node,
    port,
    ...(flags.host === undefined ? {} : { host: flags.host }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    apiKey: terminal.env.TESSERA_API_KEY,
    onWarning,
  });
}

function tellStarted(started: {
  readonly roles: readonly Role[];
  readonly host: ToolHost | null;
  readonly api: Api | null;
  readonly flags: StartFlags;
  readonly terminal: Terminal;
}): void {
  const { roles, host, api, flags, terminal } = started;
  const facts = {
    roles,
    project: flags.project,
    ...(host === null ? {} : { targets: host.targets }),
    ...(api === null ? {} : { url: api.url, ...(api.key.isNew ? { key: api.key.text } : {}) }),
  };
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, event: "started", ...facts })}\n`);
    return;
  }
  const lines = Object.entries(facts).map(
    ([name, value]) => `  ${name.padEnd(8)} ${Array.isArray(value) ? value.join(", ") : value}\n`,
  );
  terminal.out(`tessera is running; Ctrl-C stops it\n${lines.join("")}`); // S2
}

function readRoles(text: string): Set<Role> {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !(ROLES as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new BadRequest(`--role must be a list of ${ROLES.join(", ")}; it holds ${JSON.stringify(unknown)}`);
  }
  return new Set(names as Role[]);
}

function readNumber(text: string, flag: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value >= min && value <= max) return value;
  throw new BadRequest(`${flag} must be a whole number from ${min} to ${max}; it is ${JSON.stringify(text)}`);
}
