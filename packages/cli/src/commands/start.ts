// tessera start: a process with roles. tessera dev: all of them, on a store that may be thrown away. serve.ts has the process.

import type { Command } from "commander";
import type { ExitCode } from "../exit-codes.ts";
import { addHostFlags, type HostFlags } from "../flags/flags.ts";
import { ROLES } from "../flags/roles.ts";
import { usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { bundleHere } from "./bundle-here.ts";

export interface StartFlags extends HostFlags {
  readonly role?: string;
  readonly host?: string;
  readonly port?: string;
  readonly allowedHosts?: string;
  readonly trustedProxies?: string;
  readonly grace?: string;
  readonly logLevel?: string;
}

export interface DevFlags extends Omit<StartFlags, "role"> {
  readonly watch?: boolean;
}

const START_HELP = `
Roles: kernel sweeps (ends what is overdue), worker runs agents' turns, pmo
gives one agent's work to others (fork_join and its kin; the name is
CommonGround's), tools runs the tools of a bundle, api serves HTTP.

Prints the API's address and, unless TESSERA_API_KEY is set, a key for it. The
log is JSON lines on stderr. Ctrl-C lets running tools finish; a second one ends
at once.

Examples:
  $ tessera start ./bundle --data ./store
  $ tessera start ./bundle --role tools --postgres postgres://me@localhost:5432/tessera --nats nats://localhost:4222`;

export function defineStart(command: Command, { terminal, onExit }: ProgramParts): void {
  addHostFlags(command)
    .argument("[bundle]", "a directory with agents and tools")
    .option("--role <roles>", `which of ${ROLES.join(", ")}, separated by commas (default: all)`)
    .option("--host <address>", "where the API listens (default 127.0.0.1)")
    .option("--port <number>", "where the API listens; 0 takes any free port (default 8099)")
    .option("--allowed-hosts <names>", "other names that the API answers to, separated by commas")
    .option(
      "--trusted-proxies <addresses>",
      "proxies before the API whose X-Forwarded-For is believed, separated by commas",
    )
    .option("--grace <seconds>", "how long running tools may take to finish at the end (default 30)")
    .option("--log-level <level>", "the least important lines of the log: debug, info, warn, error (default info)")
    .addHelpText("after", START_HELP)
    .action(async (bundle: string | undefined, flags: StartFlags) => onExit(await start(bundle, flags, terminal)));
}

async function start(bundle: string | undefined, flags: StartFlags, terminal: Terminal): Promise<ExitCode> {
  const [{ hostSettings }, { serve }] = await Promise.all([import("../flags/host-settings.ts"), import("./serve.ts")]);
  const { values } = await hostSettings(flags, terminal, { bundle, isServing: true });
  if (bundle !== undefined && !values.role.includes("tools") && !values.role.includes("worker")) {
    const said = `the role here is ${values.role.join(",")}`;
    throw usageError(`a bundle is for the roles worker and tools, and ${said}; add one, or leave the bundle out`);
  }
  return await serve(bundle, flags, terminal, { isDev: false });
}

const DEV_HELP = `
\`start\` with every role, for a machine of your own: without --data or --postgres
the store is in memory and thrown away. TESSERA_API_KEY sets the key; otherwise
one is made and printed.

What changes in the bundle is loaded at once. Turns under way go on with what
they began with. A mistake is printed with its place, and changes nothing. On a
terminal, turns and calls are shown as \`run\` shows them; a pipe gets the log.

Examples:
  $ tessera dev ./bundle
  $ tessera dev ./bundle --data ./store --port 8100`;

export function defineDev(command: Command, { terminal, onExit }: ProgramParts): void {
  addHostFlags(command)
    .argument("[bundle]", "a directory with agents and tools (default: the current one, if it holds any)")
    .option("--port <number>", "where the API listens; 0 takes any free port (default 8099)")
    .option("--grace <seconds>", "how long running tools may take to finish at the end (default 5)")
    .option("--log-level <level>", "the least important lines of the log: debug, info, warn, error (default info)")
    .option("--no-watch", "do not load the bundle again when its files change")
    .addHelpText("after", DEV_HELP)
    .action(async (bundle: string | undefined, flags: DevFlags) => onExit(await dev(bundle, flags, terminal)));
}

async function dev(given: string | undefined, flags: DevFlags, terminal: Terminal): Promise<ExitCode> {
  const { serve } = await import("./serve.ts");
  return await serve(given ?? bundleHere(), { ...flags, role: ROLES.join(",") }, terminal, { isDev: true });
}
