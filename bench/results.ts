// What a run leaves behind: a document that holds no name or path of the machine it was made on.

import { cpus, loadavg, totalmem } from "node:os";
import { pgliteVersion } from "@tessera/engines/pglite";
import { natsVersion, postgresVersion } from "../packages/testkit/src/servers/server-binaries.ts";
import type { Spread } from "./statistics.ts";
import type { Judged } from "./targets.ts";

export type SuiteName = "bench" | "peers";

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memory_gib: number;
  /** Of one minute, when the run began: above a few tenths, others were at work, too. */
  readonly load_at_start: number;
  readonly versions: Readonly<Record<string, string>>;
}

export interface Results {
  readonly suite: SuiteName;
  readonly date: string;
  readonly machine: Machine;
  readonly seconds: number;
  readonly repetitions: number;
  readonly is_quick: boolean;
  readonly works: Readonly<
    Record<string, { readonly what: string; readonly figures: Readonly<Record<string, Spread>> }>
  >;
  /** Works that could not be measured, and why. */
  readonly failures: Readonly<Record<string, string>>;
  readonly targets: readonly Judged[];
}

export function thisMachine(versions: Readonly<Record<string, string>> = {}): Machine {
  const processors = cpus();
  const number = (text: string) => /\d+(\.\d+)+/.exec(text)?.[0] ?? text;
  return {
    cores: processors.length,
    cpu: processors[0]?.model.trim() ?? "",
    memory_gib: Math.round(totalmem() / 2 ** 30),
    load_at_start: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    versions: {
      "Node.js": process.versions.node,
      PostgreSQL: number(postgresVersion()),
      NATS: number(natsVersion()),
      PGlite: pgliteVersion(),
      ...versions,
    },
  };
}
