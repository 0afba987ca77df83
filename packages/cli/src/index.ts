// @tessera/cli: the `tessera` command, as a function for programs that want to run it in their own process.

export { endWithLauncher } from "./connect/launcher-watch.ts";
export { EXIT, type ExitCode } from "./exit-codes.ts";
export { quoted } from "./output/paste-command.ts";
export { gated, type ProcessTerminal, type Text } from "./output/printing-gate.ts";
export { processTerminal } from "./output/process-terminal.ts";
export { runCli } from "./run-cli.ts";
