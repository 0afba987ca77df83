// @tessera/cli: the `tessera` command, as a function for programs that want to run it in their own process.

export { EXIT, type ExitCode } from "./exit-codes.ts";
export { endWithLauncher } from "./launcher-watch.ts";
export { quoted } from "./paste-command.ts";
export { gated, type ProcessTerminal, type Terminal, type Text } from "./printing-gate.ts";
export { processTerminal } from "./process-terminal.ts";
export { runCli } from "./run-cli.ts";
