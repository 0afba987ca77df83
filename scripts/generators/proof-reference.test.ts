import { expect, test } from "vitest";
import type { ProofRecord, Stamp } from "../proof/record.ts";
import { proofPage } from "./proof-reference.ts";

const STAMP: Stamp = { commit: "abc1234567", date: "2026-11-15" };

function page(...records: ProofRecord[]): string {
  return proofPage(records.map((record) => ({ ...record, ...STAMP })));
}

function simulation(from: number, to: number, faults: Record<string, number>, violations = 0): ProofRecord {
  return { run: "simulation", from, to, events: 1000, turns: 10, calls: 20, faults, violations };
}

test("chunks that overlap count each seed once, and their faults add up", () => {
  const text = page(simulation(1, 250, { drop: 3 }), simulation(201, 500, { drop: 4, kill: 1 }));
  expect(text).toContain("| 500 | 2,000 | 20 | 40 | 0 |");
  expect(text).toContain("| `drop` | 7 |");
  expect(text).toContain("| `kill` | 1 |");
});

test("a violation is shown, never summed away", () => {
  expect(page(simulation(1, 10, {}, 2), simulation(11, 20, {}))).toContain("| 20 | 2,000 | 20 | 40 | 2 |");
});

test("a violation whose seeds were run again without one is still reported", () => {
  const text = page(simulation(1, 10, {}, 2), simulation(1, 5, {}), simulation(1, 12, {}));
  expect(text).toContain("| 12 | 3,000 | 30 | 60 | 0 |");
  expect(text).toContain("Broken on the way: 2, among the seeds 1–10.");
});

test("a planted bug that stayed unnoticed stands out", () => {
  expect(page({ run: "planted", bugs: { skip_epoch_check: 12, no_key: null } })).toMatch(
    /`skip_epoch_check` \| 12 \|\n\| `no_key` \| \*\*not noticed\*\*/,
  );
  expect(page({ run: "planted", bugs: {} })).toContain("../../tests/scenarios/planted-lock-order.test.ts");
});

test("a section without runs says so", () => {
  expect(page()).toContain("## Process chaos\n\nNo run is recorded yet.");
});

test("recovery is reported with its limit, its number of samples, and what was remarked", () => {
  const recovery = { samples: 4, median: 900, worst: 1500, limit: 2000 };
  const text = page({
    run: "chaos",
    seed: 7,
    seconds: 1800,
    turns: 5,
    calls: 6,
    faults: { kill_worker: 4 },
    violations: 0,
    recovery: { broker_return: recovery, worker_kill: recovery },
    left_out: { broker_return: 0, worker_kill: 2 },
    remark: "looked at.",
  });
  const told = "0.9 / 1.5 s of 2.0 (4)";
  expect(text).toContain(`| 7 | 1,800 | 5 | 6 | 4 | ${told} | ${told}, left out 2 | 0 |\n\n- Seed 7: looked at.\n`);
});

test("throughput under kills is a share of the calm run", () => {
  const record = { run: "throughput", seconds: 60, kills: 12, calm_per_second: 40, killed_per_second: 31 } as const;
  expect(page({ ...record, violations: 0 })).toContain("| 60 s each | 40.0 | 31.0 | 12 | 78 % | 0 |");
});
