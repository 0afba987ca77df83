// docs/reference/performance.md and its plot: the last saved runs of `npm run bench` and `npm run bench:peers`.
//
// A pure function of bench/results/bench.json and peers.json; a run that was never saved is said to be missing.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { plot, ratePanel } from "../../bench/plot.ts";
import { text, verdictOf } from "../../bench/report.ts";
import type { Results, SuiteName } from "../../bench/results.ts";
import type { Spread } from "../../bench/statistics.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";

const RESULTS = join(import.meta.dirname, "../../bench/results");
const COMMANDS: Readonly<Record<SuiteName, string>> = { bench: "npm run bench", peers: "npm run bench:peers" };

export const performanceReference: Generator = {
  name: "performance reference",
  async files() {
    const [bench, peers] = await Promise.all([readResults("bench"), readResults("peers")]);
    const runs = [peers, bench].filter((run) => run !== null);
    const drawing = `${NOTICE}\n${plot(runs.map(ratePanel))}`;
    return new Map([
      ["docs/reference/performance.md", performancePage(bench, peers)],
      ["docs/reference/performance.svg", drawing],
    ]);
  },
};

async function readResults(suite: SuiteName): Promise<Results | null> {
  try {
    return JSON.parse(await readFile(join(RESULTS, `${suite}.json`), "utf8")) as Results;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

export function performancePage(bench: Results | null, peers: Results | null): string {
  return `${NOTICE}

# Performance

What a durable tool call costs, next to the least it could cost and to what others take for the same work. Only ratios within
one run mean something; the absolute figures are those of one small machine.

**The work.** An agent persists a tool call; another process runs an echo tool; the result is persisted; the agent is woken
and applies it exactly once. PostgreSQL with \`fsync\` and \`synchronous_commit\` on. Tessera does it with everything it
promises: leases, fencing by epoch and capability, checks of what comes in, tracing, recovery.

**The floor.** The same round trip written directly for speed and nothing else: two processes, three statements batched over
concurrent turns, core NATS, none of those promises (\`bench/programs/floor.ts\`). No system that needs the promises can be as
fast; the ratio says what they cost.

![Calls per second with 64 at once](performance.svg)

## Targets

${targetsSection([bench, peers])}

## Beside its peers

${peers === null ? missing("peers") : `${setting(peers)}\n\n${peersTable(peers)}`}

## Every figure

${bench === null ? missing("bench") : `${setting(bench)}\n\n${figuresTable(bench)}`}

## What limits it

${limitsSection(bench)}

## What to keep in mind

- Between two runs on one machine 1.2 to 1.6 times is usual, and 3 times happens. Works are interleaved and medians are
  compared, which helps within a run and not between runs.
- The disk of the machine decides what a commit costs. A local disk takes about 0.1 ms for \`fsync\`; disks in clouds take ten
  times as long. Then every durable contender gets slower by about its number of commits, and ratios move towards those.
- The floor was tuned in many variants. Each peer has one plain configuration, as its documentation would have it, and might
  be tuned, too.
- DBOS and LangGraph make no hop to another process here, which favours them; with 64 at once they get two processes of 32.
- AI SDK and Mastra keep nothing: they show what an agent's loop costs without durability.
- PGlite survives the death of its process and not of the machine: it does not wait for the disk.
- All processes and servers of a work share the cores of one machine, the load generator included.

## Run it

${code("npm run bench -- --quick")} takes about two minutes and tells whether everything works;
${code("npm run bench")} and ${code("npm run bench:peers")} measure, on a machine that does nothing else. With
${code("--save")} the result is kept in \`bench/results\`, and ${code("npm run generate")} makes this page of it. The peers are
installed by their command only.
`;
}

function targetsSection(runs: readonly (Results | null)[]): string {
  const rows = runs.flatMap((run) =>
    (run?.targets ?? []).map((target) => [
      target.row,
      target.says,
      target.value === null ? "" : text(target.value),
      target.against === null ? "" : `${text(target.against.value)} (${target.against.name.split(" ")[0]})`,
      target.against === null || target.ratio === null ? "" : text(target.ratio),
      verdictOf(target),
    ]),
  );
  if (rows.length === 0) return missing("bench");
  return table(["Work", "Target", "Figure", "Against", "Ratio", ""], rows);
}

function peersTable({ works }: Results): string {
  const rows = Object.values(works)
    .toSorted((a, b) => (b.figures.c64_per_second?.median ?? 0) - (a.figures.c64_per_second?.median ?? 0))
    .map(({ what, figures }) => [
      what,
      `${median(figures.c1_p50_ms)} / ${median(figures.c1_p99_ms)}`,
      withRange(figures.c64_per_second),
    ]);
  return table(["What", "One at a time: p50 / p99 ms", "64 at once: per second [range]"], rows);
}

function figuresTable({ works, failures }: Results): string {
  const rows = Object.entries(works).flatMap(([name, { what, figures }]) =>
    Object.entries(figures).map(([figure, spread], n) => [
      n === 0 ? `**${name}**: ${what}` : "",
      code(figure),
      withRange(spread),
    ]),
  );
  const failed = Object.keys(failures).map((name) => `${code(name)} could not be measured in this run.`);
  const note = "`c64` is with 64 at once; names end with their unit.";
  return [note, table(["Work", "Figure", "Median [range]"], rows), ...failed].join("\n\n");
}

function limitsSection(bench: Results | null): string {
  const cost = bench?.works.cost?.figures;
  const paid =
    cost === undefined
      ? ""
      : ` Counted in this run: ${median(cost.c1_statements_per_call)} statements, ${median(cost.c1_commits_per_call)} commits, ${median(cost.c1_rows_per_call)} rows and ${median(cost.c1_wal_bytes_per_call)} bytes of WAL per call alone; with 64 at once ${median(cost.c64_statements_per_call)} statements and ${median(cost.c64_commits_per_call)} commits.`;
  return `- **One at a time, the commits.** A call takes four: the call, the claim, the result, its application; the floor takes three,
  because it has no claim. A tool of effect \`read\` does not wait for the disk when it is claimed. An inline call takes two.${paid}
- **Many at once, the CPU.** Statements of concurrent turns are batched, so commits are shared, and what is left is the work
  of PostgreSQL per row: its number, its width, its indexes. The table shows where a call's CPU time goes.
- **Without NATS, the notifications.** LISTEN/NOTIFY takes a lock at each commit that notifies; one at a time it is as fast as
  a broker.

${cpuTable(bench)}

What stands between this and half of the floor's rate, by profile, and what it would take:
[decision 28](../decisions/0028-how-far-from-the-floor.md).`;
}

/** Where a call's CPU time goes with 64 at once, beside the floor's. */
function cpuTable(bench: Results | null): string {
  const works = { Tessera: bench?.works["durable-once"]?.figures, "The floor": bench?.works.floor?.figures };
  const parts = {
    agent: "agent's process",
    tool: "tool's process",
    postgres: "PostgreSQL",
    nats: "NATS",
    total: "all",
  };
  const rows = Object.entries(works).map(([name, figures]) => [
    name,
    ...Object.keys(parts).map((part) => median(figures?.[`c64_${part}_cpu_us`])),
  ]);
  const head = ["µs of CPU per call, 64 at once", ...Object.values(parts)];
  return table(head, rows);
}

function setting({ date, machine, seconds, repetitions, is_quick }: Results): string {
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  const quick = is_quick ? " This was a quick run: too short to judge by." : "";
  return `Measured on ${date}: ${machine.cores} cores (${machine.cpu}), ${machine.memory_gib} GiB, load ${machine.load_at_start} at the start; medians of ${repetitions}, ${seconds} s each.${quick} ${versions.join(", ")}.`;
}

function missing(suite: SuiteName): string {
  return `No run of ${code(COMMANDS[suite])} has been saved yet.`;
}

function median(spread: Spread | undefined): string {
  return spread === undefined ? "–" : text(spread.median);
}

function withRange(spread: Spread | undefined): string {
  if (spread === undefined) return "–";
  const range = spread.repetitions > 1 ? ` [${text(spread.min)}–${text(spread.max)}]` : "";
  return `${text(spread.median)}${range}`;
}
