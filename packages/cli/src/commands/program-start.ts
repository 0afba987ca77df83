// tessera start and tessera dev: the commands and their flags.

import { addHostFlags } from "../flags/flags.ts";
import { ROLES } from "../flags/roles.ts";
import type { ProgramParts } from "../program.ts";
import type { DevFlags, StartFlags } from "./start-command.ts";

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

export function addStartCommand({ program, terminal, onExit }: ProgramParts): void {
  addHostFlags(program.command("start").copyInheritedSettings(program))
    .argument("[bundle]", "a directory with agents and tools")
    .description("run roles of Tessera until told to stop")
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
    .action(async (bundle: string | undefined, flags: StartFlags) => {
      const { startCommand } = await import("./start-command.ts");
      onExit(await startCommand(bundle, flags, terminal));
    });
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

export function addDevCommand({ program, terminal, onExit }: ProgramParts): void {
  addHostFlags(program.command("dev").copyInheritedSettings(program))
    .argument("[bundle]", "a directory with agents and tools (default: the current one, if it holds any)")
    .description("run everything in one process, with the API on this machine only")
    .option("--port <number>", "where the API listens; 0 takes any free port (default 8099)")
    .option("--grace <seconds>", "how long running tools may take to finish at the end (default 5)")
    .option("--log-level <level>", "the least important lines of the log: debug, info, warn, error (default info)")
    .option("--no-watch", "do not load the bundle again when its files change")
    .addHelpText("after", DEV_HELP)
    .action(async (bundle: string | undefined, flags: DevFlags) => {
      const { devCommand } = await import("./start-command.ts");
      onExit(await devCommand(bundle, flags, terminal));
    });
}
