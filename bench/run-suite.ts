// A suite from its command line to its report: what `npm run bench` and `npm run bench:peers` share.
//
//   C1. With --json stdout holds the JSON and nothing else; progress goes to stderr in either case.
//   C2. A missed target is a finding, not a failure: the exit code is 1 only where a work could not be measured.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { FlagMistake, tellFlagMistakes, wholeNumber } from "../scripts/flags.ts";
import { plot, ratePanel } from "./plot.ts";
import { reportOf } from "./report.ts";
import { type Results, type SuiteName, thisMachine } from "./results.ts";
import { runWorks } from "./run-works.ts";
import type { Servers } from "./servers.ts";
import { judge, type Target } from "./targets.ts";
import type { Work } from "./work.ts";

export interface Suite {
  readonly name: SuiteName;
  readonly works: readonly Work[];
  readonly targets: readonly Target[];
  readonly servers: Servers;
  readonly versions?: Readonly<Record<string, string>>;
}

const QUICK = { seconds: 1, repetitions: 1 };
const FULL = { seconds: 6, repetitions: 3 };

export const USAGE = `options:
  --quick             once, one second each: does everything work?
  --only NAME,…       these works; a target needs all that it compares
  --repetitions N     default ${FULL.repetitions}
  --seconds N         of load for each concurrency; default ${FULL.seconds}
  --json              print the result as JSON and nothing else
  --svg FILE          draw the rates with 64 calls at once
  --save              keep the result in bench/results, from which docs/reference/performance.md is generated
`;

/** The works are for `--only`: a wrong name is reported before anything is installed or started. */
export function readCommandLine(works: readonly Work[]) {
  tellFlagMistakes("--help lists the flags and the works.");
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      repetitions: { type: "string" },
      seconds: { type: "string" },
      json: { type: "boolean", default: false },
      svg: { type: "string" },
      save: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const usual = values.quick ? QUICK : FULL;
  const only = values.only?.split(",") ?? null;
  const unknown = only?.filter((name) => !works.some((work) => work.name === name)) ?? [];
  if (unknown.length > 0) throw new FlagMistake(`--only: there is no work ${unknown.join(", ")}`);
  return {
    ...values,
    only,
    repetitions: wholeNumber("repetitions", values.repetitions ?? String(usual.repetitions)),
    seconds: wholeNumber("seconds", values.seconds ?? String(usual.seconds)),
  };
}

export async function runSuite(suite: Suite, flags: ReturnType<typeof readCommandLine>): Promise<void> {
  const { seconds, repetitions, only, quick: isQuick } = flags;
  const works = suite.works.filter(({ name }) => only?.includes(name) ?? true);
  const machine = thisMachine(suite.versions);
  const onProgress = (line: string) => void process.stderr.write(`${line}\n`); // C1
  onProgress(
    `${works.length} works, ${repetitions} times, ${seconds} s each; load of this machine: ${machine.load_at_start}`,
  );
  try {
    const { figures, failures } = await runWorks(works, {
      servers: suite.servers,
      seconds,
      repetitions,
      isQuick,
      onProgress,
    });
    const results: Results = {
      suite: suite.name,
      date: new Date().toISOString().slice(0, 10),
      machine,
      seconds,
      repetitions,
      is_quick: isQuick,
      works: Object.fromEntries(
        works.flatMap(({ name, what }) => (figures[name] ? [[name, { what, figures: figures[name] }]] : [])),
      ),
      failures,
      targets: suite.targets.map((target) => judge(target, figures)),
    };
    process.stdout.write(flags.json ? `${JSON.stringify(results)}\n` : `\n${reportOf(results)}\n`);
    if (flags.svg !== undefined) writeFileSync(flags.svg, plot([ratePanel(results)]));
    if (flags.save) {
      const file = join(import.meta.dirname, "results", `${suite.name}.json`);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
      onProgress(`saved; \`npm run generate\` makes docs/reference/performance.md of it`);
    }
    if (Object.keys(failures).length > 0) process.exitCode = 1; // C2
  } finally {
    await suite.servers.stop();
  }
}
