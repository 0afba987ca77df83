// tessera start: a process with roles, until it is told to stop.
//
//   S1. Started in the order store, tools, API; stopped in the reverse one. Running tools get the grace to finish; asked a
//       second time to stop, the process ends at once.
//   S2. The address and a generated key are printed once on stdout; the log is JSON lines on stderr.

import { API_PORT, type Api, type Node, openApi, openLog, openToolHost, startToolCaller } from "@tessera/runtime";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { usageError } from "./failure.ts";
import { readChoices, readList, readNumber } from "./flag-values.ts";
import type { HostFlags } from "./flags.ts";
import { redact } from "./redact.ts";
import { ROLES, type Role } from "./roles.ts";
import type { Terminal } from "./run-cli.ts";
import { namesOf } from "./tools-command.ts";
import { visibleLine } from "./visible-text.ts";
import { envAllowList, hostOptions, withNode } from "./with-node.ts";

export interface StartFlags extends HostFlags {
  readonly role: string;
  readonly host?: string;
  readonly port?: string;
  readonly allowedHosts?: string;
  readonly grace?: string;
}

const NAMES_SHOWN_MAX = 12;

export async function startCommand(
  bundle: string | undefined,
  flags: StartFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const roles = new Set(readChoices("--role", flags.role, ROLES));
  const port = readNumber("--port", flags.port ?? String(API_PORT), { min: 0, max: 65_535 });
  const graceMs = readNumber("--grace", flags.grace ?? "30", { min: 0, max: 3_600 }) * 1_000;
  if (bundle !== undefined && !roles.has("tools")) {
    throw usageError(`a bundle is for the role tools, and --role is ${flags.role}; add tools, or leave the bundle out`);
  }
  const options = hostOptions(flags, terminal, bundle);
  const log = openLog((line) => terminal.err(redact(line)));
  const stopped = terminal.stopped();
  return await withNode(flags, terminal, { sweep: roles.has("kernel"), onWarning: log.warn }, async (node) => {
    const closing: (() => Promise<void>)[] = [];
    try {
      let targets: readonly string[] | null = null;
      if (roles.has("tools")) {
        const host = await openToolHost({ ...options, node, onLog: log.tool, onWarning: log.warn });
        closing.push(() => host.close({ graceMs }));
        const caller = await startToolCaller({
          ...node,
          project: flags.project,
          runner: host.runner,
          isHosted: host.isHosted,
          onLog: log.tool,
          onWarning: log.warn,
        });
        closing.push(() => caller.stop({ graceMs }));
        targets = host.targets;
      }
      const api = roles.has("api") ? await openApiOf(flags, terminal, node, port, log.warn) : null;
      if (api !== null) closing.push(() => api.close());
      const tools = targets === null ? null : namesOf(await node.kernel.reads.tools(flags.project));
      tellStarted({ roles: [...roles], store: node.store.place.name, targets, tools, api, flags, terminal });
      await stopped;
      log.info("stopping", { grace_ms: graceMs });
      if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, event: "stopping" })}\n`);
      else terminal.err("tessera: stopping; Ctrl-C again ends at once\n");
      return EXIT.ok;
    } finally {
      for (const close of closing.reverse()) await close(); // S1
    }
  });
}

function openApiOf(
  flags: StartFlags,
  terminal: Terminal,
  node: Node,
  port: number,
  onWarning: (warning: string) => void,
): Promise<Api> {
  return openApi({
    node,
    port,
    ...(flags.host === undefined ? {} : { host: flags.host }),
    ...(flags.allowedHosts === undefined ? {} : { allowedHosts: readList(flags.allowedHosts) }),
    envAllowList: envAllowList(flags, terminal),
    apiKey: terminal.env.TESSERA_API_KEY,
    onWarning,
  });
}

function tellStarted(started: {
  readonly roles: readonly Role[];
  readonly store: string;
  readonly targets: readonly string[] | null;
  readonly tools: readonly string[] | null;
  readonly api: Api | null;
  readonly flags: StartFlags;
  readonly terminal: Terminal;
}): void {
  const { roles, store, targets, tools, api, flags, terminal } = started;
  const facts = {
    roles,
    store,
    project: flags.project,
    ...(tools === null ? {} : { tools }),
    ...(targets === null ? {} : { targets }),
    ...(api === null ? {} : { url: api.url, ...(api.key.isNew ? { key: api.key.text } : {}) }),
  };
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, event: "started", ...facts })}\n`);
    return;
  }
  const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(8)} ${visibleLine(factText(value))}\n`);
  terminal.out(`tessera is running; Ctrl-C stops it\n${lines.join("")}`); // S2
}

function factText(value: string | readonly string[]): string {
  if (typeof value === "string") return value;
  if (value.length === 0) return "none";
  const more = value.length > NAMES_SHOWN_MAX ? `, and ${value.length - NAMES_SHOWN_MAX} more` : "";
  return `${value.slice(0, NAMES_SHOWN_MAX).join(", ")}${more}`;
}
