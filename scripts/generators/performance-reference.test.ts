import { expect, it } from "vitest";
import type { Results } from "../../bench/results.ts";
import { spreadsOf } from "../../bench/statistics.ts";
import { judge, PEER_TARGETS } from "../../bench/targets.ts";
import { performancePage } from "./performance-reference.ts";

const figures = {
  "durable-once": spreadsOf([{ c1_p50_ms: 2, c1_p99_ms: 5, c64_per_second: 3_000 }]),
  bullmq: spreadsOf([{ c1_p50_ms: 3, c1_p99_ms: 9, c64_per_second: 1_000 }]),
};
const peers: Results = {
  suite: "peers",
  date: "2026-01-02",
  machine: { cores: 2, cpu: "a CPU", memory_gib: 8, load_at_start: 0.1, versions: { "Node.js": "24.0.0" } },
  seconds: 6,
  repetitions: 1,
  is_quick: false,
  works: Object.fromEntries(
    Object.entries(figures).map(([name, each]) => [name, { what: `the ${name}`, figures: each }]),
  ),
  failures: {},
  targets: PEER_TARGETS.map((target) => judge(target, figures)),
};

it("says which run is missing, and shows the one that is there, the fastest first", () => {
  expect(performancePage(null, null)).toContain("No run of `npm run bench:peers` has been saved yet.");
  const page = performancePage(null, peers);
  expect(page).toContain("No run of `npm run bench` has been saved yet.");
  expect(page).toMatch(/\| the durable-once \| 2 \/ 5 \| 3,000 \|\n\| the bullmq \| 3 \/ 9 \| 1,000 \|/);
  expect(page).toContain("≥ 2 × BullMQ with AOF always | 3,000 | 1,000 (bullmq) | 3 | met |");
  expect(page).toContain("2 cores (a CPU), 8 GiB");
});
