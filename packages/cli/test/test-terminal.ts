// A terminal without a process: what was printed is kept; stdin is empty, and no signal comes.

import { gated, type ProcessTerminal, type Terminal } from "../src/output/printing-gate.ts";
import { runCli } from "../src/run-cli.ts";

export interface TestTerminal {
  readonly printed: { out: string; err: string };
  readonly process: ProcessTerminal;
  /** As commands see it. */
  readonly terminal: Terminal;
}

export function testTerminal(given: Partial<ProcessTerminal> = {}): TestTerminal {
  const printed = { out: "", err: "" };
  const write = (stream: keyof typeof printed) => (text: string) => {
    printed[stream] += text;
  };
  const process: ProcessTerminal = {
    env: {},
    out: write("out"),
    err: write("err"),
    input: async () => "",
    isWatched: false,
    isOutWatched: false,
    stopped: () => new Promise(() => undefined),
    ...given,
  };
  return { printed, process, terminal: gated(process) };
}

export async function runCommand(...args: readonly string[]) {
  const { printed, process } = testTerminal();
  const exitCode = await runCli(args, process);
  return { exitCode, ...printed };
}
