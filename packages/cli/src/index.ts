// @tessera/cli: the `tessera` command, as a function for programs that want to run it in their own process.

export { EXIT, type ExitCode } from "./exit-codes.ts";
export { quoted } from "./paste-command.ts";
export { processTerminal } from "./process-terminal.ts";
export { runCli, type Terminal } from "./run-cli.ts";
