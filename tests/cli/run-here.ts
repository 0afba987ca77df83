// The command in the process of the test: what it prints and its exit code, without the second that a process takes to start.
// What it prints with --json is held to its shape.

import { runCli } from "@tessera/cli";
import { holdJson } from "./hold-json.ts";
import type { Ran } from "./run-tessera.ts";

export interface Here {
  readonly env?: Record<string, string>;
  /** Ctrl-C. */
  readonly stopped?: Promise<void>;
  /** Of stdin, which ends behind them; or what types them. */
  readonly lines?: readonly string[] | ((type: (line: string | null) => void) => void);
  /** A person types them, and watches; called with what presses Ctrl-C. */
  readonly onTerminal?: (interrupt: () => void) => void;
  /** How wide the terminal is; without it there is none. */
  readonly columns?: number;
  /** Called with everything that is printed, as it is printed. */
  readonly onPrint?: (text: string) => void;
}

export async function runHere(
  args: readonly string[],
  { env = {}, stopped, onPrint, columns, lines = [], onTerminal }: Here = {},
): Promise<Ran> {
  const printed = { out: "", err: "" };
  const write = (stream: "out" | "err") => (text: string) => {
    printed[stream] += text;
    onPrint?.(text);
  };
  const exitCode = await runCli(args, {
    env,
    out: write("out"),
    err: write("err"),
    input: async () => "",
    lines: (heard) => {
      if (typeof lines === "function") lines(heard);
      else for (const line of [...lines, null]) queueMicrotask(() => heard(line));
      return () => undefined;
    },
    isInputWatched: onTerminal !== undefined,
    interrupts: (heard) => {
      onTerminal?.(heard);
      return () => undefined;
    },
    isWatched: columns !== undefined,
    isOutWatched: columns !== undefined,
    columns: () => columns,
    stopped: () => stopped ?? new Promise(() => undefined),
  });
  holdJson(args, { exitCode, ...printed });
  return { exitCode, ...printed };
}
