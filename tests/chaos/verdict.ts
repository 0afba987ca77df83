// What must be true when a chaos run is over and healed. Each sentence of the answer is a violation; none is a clean run.
//
//   V1. Every accepted turn is there and has ended, and no request made two turns.
//   V2. No invariant finds a row: safety and liveness, by the command that operators use, as the reader of deploy/.
//   V3. The ledgers agree with the store (tests/sim/checks.ts, C2).
//   V4. Healing takes a bounded time, no process has ended by itself, and no request was refused.
//   V5. What is promised of recovery and of throughput is kept (measures.ts, throughput.ts).

import type { Database } from "@tessera/kernel";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import { runTessera } from "../cli/run-tessera.ts";
import { ledgerDisagreement, unendedTurn, wrongDepth } from "../sim/checks.ts";
import type { EffectLedger } from "../sim/effect-ledger.ts";
import { NOTHING_LOST } from "../sim/lost-tail.ts";
import { isDrained, openWork } from "../sim/workload.ts";
import type { ChaosWorld } from "./chaos-world.ts";
import { readLedger } from "./ledger.ts";
import type { Workload } from "./workload.ts";

const HEAL_MS_MAX = 120_000;

export interface Evidence {
  readonly store: Database;
  readonly accepted: ReadonlySet<string>;
  readonly ledger: EffectLedger;
}

/** Ends the load of a world without faults, waits until all is done, and judges. */
export async function conclude(world: ChaosWorld, workload: Workload): Promise<readonly string[]> {
  const { database: store } = world;
  await workload.finish(HEAL_MS_MAX);
  const drained = { what: "the store to drain", timeoutMs: HEAL_MS_MAX, intervalMs: 200 };
  const stuck = await waitFor(() => isDrained(store), drained).then(
    () => [],
    async (error: unknown) => [`${String(error)}: ${await openWork(store)}`],
  ); // V4
  const evidence = { store, accepted: workload.accepted, ledger: readLedger(world.place) };
  const unclean = await unverified(world.topology.postgres.urlOf("reader"));
  const judged = await judge(evidence);
  return [...stuck, ...judged, ...(unclean === null ? [] : [unclean]), ...workload.refused, ...world.ended()];
}

export async function judge({ store, accepted, ledger }: Evidence): Promise<readonly string[]> {
  const found = [
    await unendedTurn(store, accepted, NOTHING_LOST), // V1
    await strayTurns(store, accepted),
    await wrongDepth(store),
    await ledgerDisagreement(store, ledger, NOTHING_LOST), // V3
  ];
  return found.filter((each) => each !== null);
}

/** V1 */
async function strayTurns(store: Database, accepted: ReadonlySet<string>): Promise<string | null> {
  const rows = await store.query<{ id: string }>(
    "select agent_turn_id as id from state.agent_turns where parent_agent_turn_id is null",
  );
  const stray = rows.filter(({ id }) => !accepted.has(id));
  return stray.length === 0 ? null : `${stray.length} turns were made that no answer named, e.g. ${stray[0]?.id}`;
}

/** V2 */
async function unverified(url: string): Promise<string | null> {
  const { exitCode, out, err } = await runTessera(["verify", "--drained", "--json"], { TESSERA_POSTGRES: url });
  return exitCode === 0 ? null : `tessera verify --drained ended with ${exitCode}: ${out}${err}`.trim();
}
