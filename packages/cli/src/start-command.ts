// tessera start: a process with roles, until it is told to stop. tessera dev: all of them, on a store that may be thrown
// away.
//
//   S1. Started in the order store, tools, agents, API; stopped in the reverse one. Running tools get the grace to finish;
//       asked a second time to stop, the process ends at once.
//   S2. The address and a generated key are printed once on stdout; the log is JSON lines on stderr. A key that was given is
//       not repeated.

import { API_PORT, type Api, type Node, openApi, openLog } from "@tessera/runtime";
import { bundleHere } from "./bundle-here.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { usageError } from "./failure.ts";
import { readChoices, readList, readNumber } from "./flag-values.ts";
import type { HostFlags } from "./flags.ts";
import { type OpenRoles, openRoles } from "./open-roles.ts";
import { quoted } from "./paste-command.ts";
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
  if (bundle !== undefined && !roles.has("tools") && !roles.has("worker")) {
    throw usageError(
      `a bundle is for the roles worker and tools, and --role is ${flags.role}; add one, or leave the bundle out`,
    );
  }
  return await serve(bundle, flags, terminal, { roles, isDev: false });
}

export async function devCommand(
  given: string | undefined,
  flags: Omit<StartFlags, "role">,
  terminal: Terminal,
): Promise<ExitCode> {
  const all = { ...flags, role: ROLES.join(","), grace: flags.grace ?? "5" };
  return await serve(given ?? bundleHere(), all, terminal, { roles: new Set(ROLES), isDev: true });
}

async function serve(
  bundle: string | undefined,
  flags: StartFlags,
  terminal: Terminal,
  { roles, isDev }: { readonly roles: ReadonlySet<Role>; readonly isDev: boolean },
): Promise<ExitCode> {
  const port = readNumber("--port", flags.port ?? String(API_PORT), { min: 0, max: 65_535 });
  const graceMs = readNumber("--grace", flags.grace ?? "30", { min: 0, max: 3_600 }) * 1_000;
  const host = hostOptions(flags, terminal, bundle);
  const log = openLog((line) => terminal.err(redact(line)));
  const stopped = terminal.stopped();
  const store = { sweep: roles.has("kernel"), onWarning: log.warn, throwAway: isDev };
  return await withNode(flags, terminal, store, async (node) => {
    const closing: (() => Promise<void>)[] = [];
    try {
      const parts = await openRoles({ node, roles, host, onLog: log.tool, onWarning: log.warn });
      closing.push(() => parts.close({ graceMs }));
      const api = roles.has("api") ? await openApiOf(flags, terminal, node, port, log.warn) : null;
      if (api !== null) closing.push(() => api.close());
      const tools = parts.host === null ? null : namesOf(await node.kernel.reads.tools(flags.project));
      tellStarted({ roles: [...roles], store: node.store.place.name, parts, tools, api, isDev, flags, terminal });
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
  readonly parts: OpenRoles;
  readonly tools: readonly string[] | null;
  readonly api: Api | null;
  readonly isDev: boolean;
  readonly flags: StartFlags;
  readonly terminal: Terminal;
}): void {
  const { roles, store, parts, tools, api, isDev, flags, terminal } = started;
  const { host, agents } = parts;
  const entry = agents?.entryAgent ?? null;
  const facts = {
    roles,
    store,
    project: flags.project,
    ...(agents === null ? {} : { agents: agents.profiles.map(({ name }) => name) }),
    ...(entry === null ? {} : { entry }),
    ...(tools === null ? {} : { tools }),
    ...(host === null || host.targets.length === 0 ? {} : { targets: host.targets }),
    ...(api === null ? {} : { url: api.url, ...(api.key.isNew ? { key: api.key.text } : {}) }), // S2
  };
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, event: "started", ...facts })}\n`);
    return;
  }
  const lines = Object.entries(facts).map(([name, value]) => `  ${name.padEnd(8)} ${visibleLine(factText(value))}\n`);
  const example =
    isDev && api !== null && entry !== null ? `\nGive ${entry} a task:\n\n${curlText(api, flags, entry)}` : "";
  terminal.out(`tessera is running; Ctrl-C stops it\n${lines.join("")}${example}`);
}

/** A request to paste into a shell. */
function curlText({ url, key }: Api, { project }: StartFlags, agent: string): string {
  const shown = key.isNew ? key.text : "$TESSERA_API_KEY"; // S2
  return [
    `curl -sS ${quoted(`${url}/projects/${project}/turns`)} \\`,
    `  -H "Authorization: Bearer ${shown}" -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify({ agent, input: "hello" }))}\n`,
  ].join("\n");
}

function factText(value: string | readonly string[]): string {
  if (typeof value === "string") return value;
  if (value.length === 0) return "none";
  const more = value.length > NAMES_SHOWN_MAX ? `, and ${value.length - NAMES_SHOWN_MAX} more` : "";
  return `${value.slice(0, NAMES_SHOWN_MAX).join(", ")}${more}`;
}
