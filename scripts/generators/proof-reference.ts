// docs/reference/proof.md: what the system has survived, summed from the lines of proof/runs.jsonl.

import {
  type ChaosRecord,
  type FuzzRecord,
  type ModelRecord,
  type PlantedRecord,
  type ProofRecord,
  type Recovery,
  readProof,
  type SimulationRecord,
  type Stamp,
  type ThroughputRecord,
} from "../proof/record.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";

export const proofReference: Generator = {
  name: "proof",
  files: async () => new Map([["docs/reference/proof.md", proofPage(await readProof())]]),
};

type Line = ProofRecord & Stamp;

export function proofPage(lines: readonly Line[]): string {
  const ofRun = <R extends ProofRecord["run"]>(run: R) =>
    lines.filter((line): line is Extract<ProofRecord, { run: R }> & Stamp => line.run === run);
  const sections = [
    section("Simulation", ofRun("simulation"), simulationText),
    section("Planted bugs", ofRun("planted"), plantedText),
    section("Model of the kernel", ofRun("model"), modelText),
    section("Hostile input", ofRun("fuzz"), fuzzText),
    section("Process chaos", ofRun("chaos"), chaosText),
    section("Throughput under kills", ofRun("throughput"), throughputText),
  ];
  return `${NOTICE}

# Proof

What the system has survived so far. Each figure is the sum of recorded runs (\`proof/runs.jsonl\`, a line per run or chunk of
one); anyone can repeat them, and \`npm test\` runs a part of each. What the checks are is in [guarantees](../guarantees.md)
and [security](security.md); what each kind leaves out, in [decision 27](../decisions/0027-what-the-simulation-leaves-out.md).

${sections.join("\n")}`;
}

function section<R extends Stamp>(
  title: string,
  records: readonly R[],
  text: (records: readonly R[]) => string,
): string {
  const body = records.length === 0 ? "No run is recorded yet." : `${text(records)}\n\n${madeWith(records)}`;
  return `## ${title}\n\n${body}\n`;
}

function simulationText(records: readonly SimulationRecord[]): string {
  const seeds = new Set(records.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i)));
  const isMended = ({ from, to }: SimulationRecord, at: number) =>
    records.slice(at + 1).some((later) => later.violations === 0 && later.from <= from && to <= later.to);
  const open = records.filter((record, at) => !isMended(record, at));
  const mended = records.filter((record, at) => record.violations > 0 && isMended(record, at));
  const history =
    mended.length === 0
      ? ""
      : `\n\nBroken on the way: ${sum(mended, "violations")}, among the seeds ${mended
          .map(({ from, to }) => `${from}–${to}`)
          .join(", ")}. What was wrong was mended, and the seeds were run again; what it was is in
[${code("tests/sim/seeds.txt")}](../../tests/sim/seeds.txt), which CI runs.`;
  return `Real kernel functions, agent loop, PMO and executors in one process under a seeded scheduler and a virtual clock; a
random subset of faults per seed; safety checked all along, liveness after healing.
Repeat: ${code("npm run sim -- --seed S --seeds N")}.

${table(
  ["Different seeds", "Events", "Turns", "Tool calls", "Violations"],
  [[count(seeds.size), sum(records, "events"), sum(records, "turns"), sum(records, "calls"), sum(open, "violations")]],
)}${history}

${faultTable(records)}`;
}

function plantedText(records: readonly PlantedRecord[]): string {
  const last = records.at(-1) as PlantedRecord;
  const rows = Object.entries(last.bugs).map(([bug, seeds]) => [
    code(bug),
    seeds === null ? "**not noticed**" : count(seeds),
  ]);
  return `Bugs built in on purpose, to see that the checks notice them. CI fails when one survives 200 seeds.
Repeat: ${code("npm run sim -- --planted")}.

One more, ${code("wrong_lock_order")}, needs sessions that wait for one another, which the simulation does not have. It is planted in a
PostgreSQL and caught there, by [${code("planted-lock-order.test.ts")}](../../tests/scenarios/planted-lock-order.test.ts).

${table(["Bug", "Seeds until it was noticed"], rows)}`;
}

function modelText(records: readonly ModelRecord[]): string {
  const rows = (["pglite", "postgres"] as const).map((engine) => {
    const own = records.filter((record) => record.engine === engine);
    return [engine, sum(own, "sequences"), sum(own, "races"), sum(own, "commands"), sum(own, "violations")];
  });
  return `Random sequences of commands against the kernel and against a small model of it; their answers and rows must agree.
Repeat: ${code("TESSERA_MODEL_RUNS=2000 npx vitest run --project pglite --project postgres model")}.

${table(["Engine", "Sequences", "Races", "Commands", "Differences"], rows)}`;
}

function fuzzText(records: readonly FuzzRecord[]): string {
  const names = [...new Set(records.map(({ door }) => door))].sort();
  const rows = names.map((door) => {
    const own = records.filter((record) => record.door === door);
    return [door, sum(own, "inputs"), sum(own, "findings")];
  });
  return `Generated input and mutated real traffic: no crash, no answer above one second, no row changed.
Repeat: ${code("TESSERA_FUZZ_RUNS=10 npx vitest run --project fuzz")}.

${table(["Entry point", "Inputs", "Findings"], [...rows, ["**all**", sum(records, "inputs"), sum(records, "findings")]])}`;
}

function chaosText(records: readonly ChaosRecord[]): string {
  const rows = records.map((record) => [
    String(record.seed),
    count(record.seconds),
    count(record.turns),
    count(record.calls),
    count(Object.values(record.faults).reduce((all, some) => all + some, 0)),
    recoveryText(record.recovery.broker_return, record.left_out?.broker_return),
    recoveryText(record.recovery.worker_kill, record.left_out?.worker_kill),
    count(record.violations),
  ]);
  const head = ["Seed", "Seconds", "Turns", "Calls", "Faults", "Broker back", "Worker killed", "Violations"];
  return `Real PostgreSQL and NATS, three workers, two tool services (one in Python), PMO and API, each behind a TCP proxy. A
fault counts when it is proven to have happened. Effect ledgers outside the database, every invariant and ${code("tessera verify")}
decide. *Broker back*: from the broker's return until messages flow
again and all that waited is taken; *worker killed*: from ${code("kill -9")} until each
of its turns has moved on. Median and worst, the limit promised, the number of samples, and how often there is none because a
worker's line to the database was half open, the stream of commands deleted, or the worker dead before; a worst above the limit by more than half a second is a violation.
Repeat: ${code("npm run chaos -- --seconds N --seed S")}.

${table(head, rows)}${remarks(records, ({ seed }) => `Seed ${seed}`)}

${faultTable(records)}`;
}

function throughputText(records: readonly ThroughputRecord[]): string {
  const rows = records.map(({ calm_per_second, killed_per_second, seconds, kills, violations }) => [
    `${count(seconds)} s each`,
    calm_per_second.toFixed(1),
    killed_per_second.toFixed(1),
    count(kills),
    `${Math.round((100 * killed_per_second) / calm_per_second)} %`,
    count(violations),
  ]);
  return `The same load left alone, then with one worker killed every five seconds. At least 50 % is promised.
Repeat: ${code("npm run chaos -- --throughput")}.

${table(["Length", "Turns per second, calm", "With kills", "Kills", "Kept", "Violations"], rows)}${remarks(
  records,
  ({ seconds }) => `${count(seconds)} s each`,
)}`;
}

function faultTable(records: readonly { readonly faults: Readonly<Record<string, number>> }[]): string {
  const kinds = [...new Set(records.flatMap(({ faults }) => Object.keys(faults)))].sort();
  const rows = kinds.map((kind) => [
    code(kind),
    count(records.reduce((all, { faults }) => all + (faults[kind] ?? 0), 0)),
  ]);
  return table(["Fault", "Happened"], rows);
}

function remarks<R extends { readonly remark?: string }>(records: readonly R[], nameOf: (record: R) => string): string {
  const lines = records.flatMap((record) =>
    record.remark === undefined ? [] : [`- ${nameOf(record)}: ${record.remark}`],
  );
  return lines.length === 0 ? "" : `\n\n${lines.join("\n")}`;
}

function recoveryText(recovery: Recovery | null, leftOut = 0): string {
  const more = leftOut === 0 ? "" : `, left out ${count(leftOut)}`;
  if (recovery === null) return `–${more}`;
  const { median, worst, limit, samples } = recovery;
  return `${seconds(median)} / ${seconds(worst)} s of ${seconds(limit)} (${count(samples)})${more}`;
}

function madeWith(records: readonly Stamp[]): string {
  const commits = [...new Set(records.map(({ commit, date }) => `${code(commit)} (${date})`))];
  return `Made with ${commits.join(", ")}.`;
}

function sum<K extends string>(records: readonly Readonly<Record<K, number>>[], key: K): string {
  return count(records.reduce((all, record) => all + record[key], 0));
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
