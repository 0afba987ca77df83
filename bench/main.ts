// npm run bench: Tessera and the floor side by side, interleaved, on servers of their own.
//
//   npm run bench -- [--repetitions 3] [--seconds 6] [--quick] [--json]
//
// Only ratios within one run mean something: disks, virtual machines and neighbours change the rest.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { openPostgres } from "@tessera/engines/postgres";
import { startNats } from "@tessera/testkit/nats-server";
import { startPostgres } from "@tessera/testkit/postgres-server";
import { median } from "./measure.ts";

const { values: flags } = parseArgs({
  options: {
    repetitions: { type: "string", default: "3" },
    seconds: { type: "string", default: "6" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

interface Figure {
  readonly name: string;
  readonly concurrency: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly per_second: number;
  readonly cost?: Record<string, number>;
}

interface Contender {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly hasNats: boolean;
}

const CONTENDERS: readonly Contender[] = [
  { name: "floor, PostgreSQL + NATS", file: "floor.ts", args: [], hasNats: true },
  { name: "once, PostgreSQL + NATS", file: "durable-call.ts", args: ["--effect", "once"], hasNats: true },
  { name: "read, PostgreSQL + NATS", file: "durable-call.ts", args: ["--effect", "read"], hasNats: true },
  { name: "once, PostgreSQL alone", file: "durable-call.ts", args: ["--effect", "once"], hasNats: false },
];

const repetitions = flags.quick ? 1 : Number(flags.repetitions);
const seconds = flags.quick ? "3" : flags.seconds;
const run = promisify(execFile);
const postgres = await startPostgres({ settings: { shared_buffers: "256MB", max_wal_size: "4GB" } });
const nats = await startNats();
try {
  const figures = new Map<string, Figure[]>();
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    for (const contender of CONTENDERS) {
      const url = await scratchDatabase();
      const args = [
        join(import.meta.dirname, contender.file),
        "--postgres",
        url,
        "--seconds",
        seconds,
        "--json",
        ...contender.args,
      ];
      if (contender.hasNats) args.push("--nats", nats.url);
      const { stdout } = await run(process.execPath, args);
      for (const figure of JSON.parse(stdout) as Figure[]) {
        const key = `${contender.name}|${figure.concurrency}`;
        figures.set(key, [...(figures.get(key) ?? []), figure]);
      }
      if (!flags.json) process.stderr.write(`measured ${contender.name} (${repetition + 1} of ${repetitions})\n`);
    }
  }
  const rows = [...figures].map(([key, runs]) => summarize(key, runs, figures));
  if (flags.json) console.log(JSON.stringify(rows));
  else console.table(Object.fromEntries(rows.map(({ name, ...row }) => [name, row])));
} finally {
  await nats.stop();
  await postgres.stop();
}

function summarize(key: string, runs: readonly Figure[], all: ReadonlyMap<string, Figure[]>) {
  const concurrency = runs[0]?.concurrency ?? 0;
  const floor = all.get(`${CONTENDERS[0]?.name}|${concurrency}`) ?? [];
  const rates = runs.map((figure) => figure.per_second);
  const p50 = median(runs.map((figure) => figure.p50_ms));
  return {
    name: key.replace("|", ", c="),
    p50_ms: p50,
    p99_ms: median(runs.map((figure) => figure.p99_ms)),
    per_second: median(rates),
    range: `${Math.min(...rates)}–${Math.max(...rates)}`,
    rate_to_floor: ratio(median(rates), median(floor.map((figure) => figure.per_second))),
    p50_to_floor: ratio(p50, median(floor.map((figure) => figure.p50_ms))),
    rows: runs.at(-1)?.cost?.rows,
    wal_bytes: runs.at(-1)?.cost?.wal_bytes,
  };
}

function ratio(value: number, floor: number): number {
  return Math.round((value / floor) * 100) / 100;
}

/** A fresh database for each run: nobody pays for another's bloat. */
async function scratchDatabase(): Promise<string> {
  const server = await openPostgres({ url: postgres.url, poolMax: 1 });
  const name = `bench_${process.hrtime.bigint()}`;
  await server.query(`create database ${name}`);
  await server.close();
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  return url.href;
}
