// What `tessera start` and `tessera dev` do: a process with roles, until it is stopped.
//
//   S1. Started in the order store, tools, agents, API; stopped in the reverse one. Running tools get the grace to finish;
//       asked a second time to stop, the process ends at once.
//       A store that is not there yet is waited for. Asked to stop meanwhile, it gives the start up: one that hangs gets
//       START_LEFT_MS_MAX.
//   S2. The address and a generated key are printed once on stdout; the log is JSON lines on stderr. A key that was given is
//       not repeated.
//   S3. A process that its store has outgrown stops in the same way, and says so as an error.
//   S4. dev loads its bundle again when it changes (dev-reload.ts). On a terminal it shows turns, calls and what tools say as `run`
//       does; a pipe gets the log, and --json events.

import { errorOf, visibleLine } from "@tessera/protocol";
import { API_HOST, type Api, type Log, openLog, type Process, quietRepeats, systemClock } from "@tessera/runtime";
import { heldByTessera, takenByTessera } from "../connect/other-tessera.ts";
import { ownApi, withProcess } from "../connect/with-process.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { HostFlags } from "../flags/flags.ts";
import { hostSettings } from "../flags/host-settings.ts";
import { quoted } from "../output/paste-command.ts";
import { sentence, type Terminal } from "../output/printing-gate.ts";
import { createProgressPrinter, isWatchedLive, type LinePrinter } from "../progress/progress-printer.ts";
import { openDevReload, type ReloadTeller } from "./dev-reload.ts";
import type { DevFlags, StartFlags } from "./start.ts";

const NAMES_SHOWN_MAX = 12;
const DEV_GRACE_SECONDS = 5;
const START_LEFT_MS_MAX = 10_000;
const FACT_WIDTH = 8;
/** dev has every role, so it has nothing to choose. */
const DEV_UNSAID: readonly string[] = ["roles", "targets"];
const LEVELS = ["debug", "info", "warn", "error"];

export async function serve(
  bundle: string | undefined,
  given: StartFlags & DevFlags,
  terminal: Terminal,
  { isDev }: { readonly isDev: boolean },
): Promise<ExitCode> {
  const { flags, values, sourceOf } = await hostSettings(given, terminal, { bundle, isServing: true });
  const isOwnGrace = isDev && sourceOf("grace_seconds") === "default";
  const graceMs = (isOwnGrace ? DEV_GRACE_SECONDS : values.grace_seconds) * 1_000;
  // dev is for this machine only.
  const settings = isDev ? { ...values, host: API_HOST } : values;
  const isShown = isDev && flags.json !== true && isWatchedLive(terminal); // S4
  const printer = isShown ? createProgressPrinter(terminal, { isJson: false, nowMs }) : null;
  const log = printer === null ? openLog(terminal.err, values.log_level) : shownLog(printer, values.log_level);
  const not = [settings.data, settings.workspaces];
  const devReload =
    isDev && bundle !== undefined && given.watch !== false
      ? openDevReload(bundle, { not, teller: reloadTeller({ printer, log, flags, terminal }) })
      : null;
  const stopped = terminal.stopped();
  const stopping = new AbortController();
  let isStarted = false;
  const givenUp = stopped.then(async () => {
    stopping.abort();
    if (!isStarted) await leftBehind(() => isStarted);
  });
  const storeWaitMs = isDev ? 0 : values.store_wait_seconds * 1_000;
  const isReloadable = devReload !== null;
  const options = { onLog: log.printed, onWarning: log.warn, storeWaitMs, stopping: stopping.signal, isReloadable };
  const order = { flags, settings, terminal, bundle, isThrowAway: isDev, graceMs, options };
  const running = withProcess(order, async (process) => {
    isStarted = true;
    const { reads } = process.node.kernel;
    const tools =
      process.host === null ? null : (await reads.tools(flags.project)).map((tool) => String(tool.tool_name));
    const shown = new AbortController();
    const seen = Promise.withResolvers<void>();
    const showing =
      printer === null
        ? null
        : showTurns(process, { project: flags.project, printer, signal: shown.signal, onReady: seen.resolve });
    if (showing !== null) await Promise.race([seen.promise, showing, stopped]);
    tellStarted({ process, health: await process.health(), tools, isDev, flags, terminal });
    if (process.reload !== null) devReload?.begin(process.reload);
    const outdated = await Promise.race([stopped.then(() => null), process.outdated]);
    devReload?.stop();
    shown.abort();
    await showing;
    printer?.close();
    if (printer === null) log.tell("info", "stopping", { grace_ms: graceMs });
    if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, event: "stopping" })}\n`);
    else terminal.err("tessera: stopping; Ctrl-C again ends at once\n");
    if (outdated !== null) throw outdated; // S3
    return EXIT.ok;
  }).finally(() => devReload?.stop());
  // Resolves when it was asked to stop; only its failure ends the wait for what runs.
  const isGivenUp = new Promise<never>((_, reject) => void givenUp.catch(reject));
  return await Promise.race([running, isGivenUp]).catch(async (error: unknown) => {
    throw (await takenByTessera(error)) ?? (await heldByTessera(error, settings.data)) ?? error;
  });
}

/** S4 */
async function showTurns(
  process: Process,
  how: {
    readonly project: string;
    readonly printer: LinePrinter;
    readonly signal: AbortSignal;
    readonly onReady: () => void;
  },
): Promise<void> {
  const { watchAllTurns } = await import("../progress/watch-all-turns.ts");
  await watchAllTurns(await ownApi(process), how);
}

/** The log as lines for a person (S4). */
function shownLog(printer: LinePrinter, least: string): Log {
  const note = (level: string, text: string) => {
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(least)) printer.note(`${level.padEnd(5)} ${text}`);
  };
  return {
    warn: quietRepeats((warning) => note("warn", warning), nowMs),
    tell: note,
    printed: ({ level, message }) => note(level, message),
  };
}

function nowMs(): number {
  return systemClock.monotonicMs();
}

/** S4 */
function reloadTeller(to: {
  readonly printer: LinePrinter | null;
  readonly log: Log;
  readonly flags: Pick<HostFlags, "json">;
  readonly terminal: Terminal;
}): ReloadTeller {
  const { printer, log, flags, terminal } = to;
  if (printer !== null) {
    return {
      reloaded: (text) => printer.note(text),
      refused: (lines, text) => printer.say([...lines, sentence(text)]),
      warn: log.warn,
    };
  }
  const tell = (facts: object) => {
    if (flags.json === true) terminal.out(`${JSON.stringify(facts)}\n`);
  };
  return {
    reloaded(text, facts) {
      log.tell("info", text, facts);
      tell({ ok: true, event: "reloaded", ...facts });
    },
    refused(lines, text, { files, findings }) {
      for (const { message, ...place } of lines.length === 0 ? [] : findings) {
        const { file, line, column, code } = place;
        log.tell("warn", `${file}:${line}:${column}: ${message}`, { code });
      }
      log.tell("warn", text, { files });
      tell({ ok: false, event: "reload_refused", files, findings });
    },
    warn: log.warn,
  };
}

/** S1: a start that is under way cannot be stopped, and may wait for a server that hangs. */
async function leftBehind(isStarted: () => boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    AbortSignal.timeout(START_LEFT_MS_MAX).addEventListener("abort", () => resolve());
  });
  if (isStarted()) return;
  const found = `stopped while it was starting, the process left behind what did not end within ${START_LEFT_MS_MAX} ms`;
  throw errorOf("stop_incomplete", `${found}: the start`);
}

function tellStarted(started: {
  readonly process: Process;
  readonly health: Awaited<ReturnType<Process["health"]>>;
  readonly tools: readonly string[] | null;
  readonly isDev: boolean;
  readonly flags: StartFlags;
  readonly terminal: Terminal;
}): void {
  const { process, health, tools, isDev, flags, terminal } = started;
  const { roles, host, agents, node } = process;
  // A process without the role serves other commands of this user only: nothing to print.
  const api = roles.includes("api") ? process.api : null;
  const entry = agents?.entryAgent ?? null;
  const facts = {
    roles,
    store: node.store.place.name,
    ...(node.bus.capabilities.kind === "nats" ? { bus: busText(node) } : {}),
    project: flags.project,
    ...(agents === null ? {} : { agents: agents.profiles.map(({ name }) => name) }),
    ...(entry === null ? {} : { entry }),
    ...(tools === null ? {} : { tools }),
    ...(host === null || host.targets.length === 0 ? {} : { targets: host.targets }),
    ...(api === null ? {} : { url: api.url, ...(api.key.isNew ? { key: api.key.text } : {}) }), // S2
    health: healthText(health),
  };
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, event: "started", ...facts })}\n`);
    return;
  }
  const said = Object.entries(facts).filter(([name]) => !(isDev && DEV_UNSAID.includes(name)));
  const lines = said.map(([name, value]) => ({
    line: [`  ${name.padEnd(FACT_WIDTH)} ${visibleLine(factText(value))}`],
    hang: FACT_WIDTH + 3,
  }));
  const example =
    isDev && api !== null && entry !== null ? `\nGive ${entry} a task:\n\n${curlText(api, flags, entry)}` : "";
  terminal.out(["tessera is running; Ctrl-C stops it\n", ...lines, example]);
}

/** Which store the broker's messages and durables of this process are for, and which others are there. */
function busText({ bus, storeId }: Process["node"]): string {
  const own = `NATS, as ${storeId ?? "a store without an id"}`;
  const { neighbours = [] } = bus.health();
  if (neighbours.length === 0) return own;
  return `${own}; beside ${neighbours.join(", ")}, so its durables have names of their own`;
}

/** What is not as it should be, if anything is. */
function healthText({ status, checks }: Awaited<ReturnType<Process["health"]>>): string {
  const wrong = checks.filter((check) => check.status !== "ok").map(({ says }) => says);
  return wrong.length === 0 ? status : `${status}: ${wrong.join("; ")}`;
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
