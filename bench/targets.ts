// What the figures are held to: ratios within one run, so that the machine cancels out.
//
//   T1. A target compares medians. Where it names several others, it is held to the best of them.
//   T2. A target whose figures were not measured is neither met nor missed.

import { rounded, type Spread } from "./statistics.ts";

export type WorkFigures = Readonly<Record<string, Readonly<Record<string, Spread>>>>;

/** `work figure`, such as `durable-once c64_per_second`. */
type FigureName = `${string} ${string}`;

export interface Target {
  readonly row: string;
  readonly says: string;
  readonly figure: FigureName;
  /** The figure is divided by the best of these; none: it is held to the limit itself. */
  readonly against?: readonly FigureName[];
  readonly is: "at least" | "at most";
  readonly limit: number;
}

export interface Judged extends Omit<Target, "against"> {
  /** Null: not measured (T2). */
  readonly value: number | null;
  readonly against: { readonly name: FigureName; readonly value: number } | null;
  readonly ratio: number | null;
  readonly isMet: boolean | null;
}

export function judge(target: Target, works: WorkFigures): Judged {
  const { against: names = [], ...rest } = target;
  const value = figureOf(works, target.figure);
  const others = names.map((name) => ({ name, value: figureOf(works, name) }));
  const isComplete = value !== null && others.every((other) => other.value !== null);
  if (!isComplete) return { ...rest, value, against: null, ratio: null, isMet: null };
  const against = best(others as { name: FigureName; value: number }[], target.is);
  const ratio = against === null ? value : value / against.value;
  const isMet = target.is === "at least" ? ratio >= target.limit : ratio <= target.limit;
  return { ...rest, value, against, ratio: rounded(ratio), isMet };
}

function figureOf(works: WorkFigures, name: FigureName): number | null {
  const [work = "", figure = ""] = name.split(" ");
  return works[work]?.[figure]?.median ?? null;
}

/** T1: of rates the highest, of times the lowest. */
function best<Other extends { readonly value: number }>(others: readonly Other[], is: Target["is"]): Other | null {
  const ordered = others.toSorted((a, b) => (is === "at least" ? b.value - a.value : a.value - b.value));
  return ordered[0] ?? null;
}

const C64 = "durable call, PostgreSQL + NATS, concurrency 64, once";
const C1 = "the same, concurrency 1";

export const TARGETS: readonly Target[] = [
  {
    row: C64,
    says: "≥ 0.5 × the batched floor",
    figure: "durable-once c64_per_second",
    against: ["floor c64_per_second"],
    is: "at least",
    limit: 0.5,
  },
  {
    row: C1,
    says: "p50 ≤ 1.7 × the floor",
    figure: "durable-once c1_p50_ms",
    against: ["floor c1_p50_ms"],
    is: "at most",
    limit: 1.7,
  },
  {
    row: "the same without NATS, concurrency 64",
    says: "≥ 0.5 × with NATS",
    figure: "durable-alone c64_per_second",
    against: ["durable-once c64_per_second"],
    is: "at least",
    limit: 0.5,
  },
  {
    row: "the same without NATS, concurrency 1",
    says: "≥ 0.5 × with NATS",
    figure: "durable-alone c1_per_second",
    against: ["durable-once c1_per_second"],
    is: "at least",
    limit: 0.5,
  },
  {
    row: "embedded, PGlite on disk, concurrency 1",
    says: "p50 ≤ 2 × the 3-transaction floor",
    figure: "embedded-disk c1_p50_ms",
    against: ["embedded-floor-disk c1_p50_ms"],
    is: "at most",
    limit: 2,
  },
  {
    row: "embedded, PGlite on disk, concurrency 64",
    says: "≥ 0.3 × the batched floor",
    figure: "embedded-disk c64_per_second",
    against: ["embedded-floor-disk c64_per_second"],
    is: "at least",
    limit: 0.3,
  },
  { row: "rows per durable call", says: "≤ 11", figure: "cost c1_rows_per_call", is: "at most", limit: 11 },
  { row: "WAL per durable call", says: "≤ 5 kB", figure: "cost c1_wal_bytes_per_call", is: "at most", limit: 5_000 },
  {
    row: "inline durable call, PostgreSQL, concurrency 1",
    says: "≤ 2 commits",
    figure: "inline c1_commits_per_call",
    is: "at most",
    limit: 2.05, // one commit in twenty calls may be another process's, such as autovacuum's
  },
  {
    row: "inline durable call, PostgreSQL, concurrency 1",
    says: "p50 ≤ 0.8 × the floor of the hop",
    figure: "inline c1_p50_ms",
    against: ["floor c1_p50_ms"],
    is: "at most",
    limit: 0.8,
  },
  {
    row: "in-process dispatch with validation, no store",
    says: "p50 ≤ 5 µs",
    figure: "dispatch p50_us",
    is: "at most",
    limit: 5,
  },
  {
    row: "fork_join of 50 echo children",
    says: "≤ 60 × the p50 of one durable call",
    figure: "fork-join p50_ms",
    against: ["durable-once c1_p50_ms"],
    is: "at most",
    limit: 60,
  },
  {
    row: "growth: cost per call at 10⁶ cards, concurrency 1",
    says: "≤ 1.3 × that at 10³",
    figure: "growth cards1000000_c1_p50_ms",
    against: ["growth cards1000_c1_p50_ms"],
    is: "at most",
    limit: 1.3,
  },
  {
    row: "growth: calls per second at 10⁶ cards, concurrency 64",
    says: "≥ those at 10³ / 1.3",
    figure: "growth cards1000000_c64_per_second",
    against: ["growth cards1000_c64_per_second"],
    is: "at least",
    limit: 1 / 1.3,
  },
  {
    row: "growth: step 200 of a turn, model time aside",
    says: "≤ 1.5 × step 5",
    figure: "long-turn step200_p50_ms",
    against: ["long-turn step5_p50_ms"],
    is: "at most",
    limit: 1.5,
  },
  {
    row: "the same, suspended at each step",
    says: "≤ 1.5 × step 5",
    figure: "long-turn-service step200_p50_ms",
    against: ["long-turn-service step5_p50_ms"],
    is: "at most",
    limit: 1.5,
  },
  {
    row: "growth: turn 1,000 of an instance, model time aside, PostgreSQL",
    says: "≤ 1.5 × turn 5",
    figure: "long-conversation turn1000_p50_ms",
    against: ["long-conversation turn5_p50_ms"],
    is: "at most",
    limit: 1.5,
  },
  {
    row: "the same, PGlite in memory",
    says: "≤ 1.5 × turn 5",
    figure: "long-conversation-embedded turn1000_p50_ms",
    against: ["long-conversation-embedded turn5_p50_ms"],
    is: "at most",
    limit: 1.5,
  },
  {
    row: "5,000 suspended turns: memory",
    says: "≤ 200 MiB more than none",
    figure: "suspended turns5000_more_rss_mib",
    is: "at most",
    limit: 200,
  },
  {
    row: "5,000 suspended turns: resumed",
    says: "all within 5 s",
    figure: "suspended turns5000_resume_all_ms",
    is: "at most",
    limit: 5_000,
  },
  {
    row: "`tessera run` of the quick start, cached snapshot",
    says: "first step within 3 s",
    figure: "start-up cached_ms",
    is: "at most",
    limit: 3_000,
  },
  {
    row: "`tessera run` of the quick start, the very first time",
    says: "first step within 6 s",
    figure: "start-up first_time_ms",
    is: "at most",
    limit: 6_000,
  },
];

const DURABLE_PEERS = ["dbos", "restate", "graphile-worker", "pg-boss", "langgraph"];
const ofPeers = (figure: string) => DURABLE_PEERS.map((peer): FigureName => `${peer} ${figure}`);

export const PEER_TARGETS: readonly Target[] = [
  {
    row: C64,
    says: "≥ 6 × the best of DBOS, Restate, graphile-worker, pg-boss and LangGraph",
    figure: "durable-once c64_per_second",
    against: ofPeers("c64_per_second"),
    is: "at least",
    limit: 6,
  },
  {
    row: C64,
    says: "≥ 2 × BullMQ with AOF always",
    figure: "durable-once c64_per_second",
    against: ["bullmq c64_per_second"],
    is: "at least",
    limit: 2,
  },
  {
    row: C1,
    says: "p50 below DBOS, Restate, graphile-worker, pg-boss and LangGraph",
    figure: "durable-once c1_p50_ms",
    against: ofPeers("c1_p50_ms"),
    is: "at most",
    limit: 1,
  },
];
