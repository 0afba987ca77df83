// A process that brings a store to where its work is parked in every way, says so on stdout, and waits to be killed.
//
// Of the services only `busy` has an executor, and the tools of acts.ts hang (the file `hang` lies beside them).

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { enqueueAgentTurn } from "@tessera/agent";
import { openProcess, openToolHost } from "@tessera/runtime";
import { waitFor } from "@tessera/testkit/wait-for";
import { type ParkedTurns, type ParkOrder, PROJECT } from "./parked-store.ts";

const order = JSON.parse(process.argv[2] ?? "{}") as ParkOrder;
const onWarning = (warning: string) => process.stderr.write(`${warning}\n`);

const { data, postgres, bundle, served } = order;
const { node } = await openProcess({
  data,
  postgres,
  bundle,
  roles: ["kernel", "worker", "pmo"],
  project: PROJECT,
  migrate: "yes",
  env: process.env,
  executor: "parked",
  api: false,
  sweepIntervalMs: 200,
  onWarning,
  onFatal: (error) => onWarning(error.message),
});
await openToolHost({
  node,
  project: PROJECT,
  bundle: served,
  env: process.env,
  executor: "busy",
  openApiTargets: [],
  serve: true,
  onWarning,
});
const { kernel, ids, store } = node;

async function ask(agent: string, input: string): Promise<string> {
  return (await enqueueAgentTurn(kernel, ids, { project_id: PROJECT, agent, input })).agent_turn_id;
}

/** Rows of calls and turns say where work is; a test elsewhere reads them again after the upgrade. */
async function awaitCount(what: string, text: string, values: readonly unknown[], count: number): Promise<void> {
  const found = async () => Number((await store.database.query(text, values))[0]?.count) === count;
  await waitFor(found, { what, timeoutMs: 60_000 });
}

async function awaitStatus(turn: string, status: string): Promise<void> {
  const hasIt = async () => (await kernel.reads.turn(PROJECT, turn))?.turn_status === status;
  await waitFor(hasIt, { what: `turn ${turn} to be ${status}`, timeoutMs: 60_000 });
}

async function awaitLedger(directory: string, of: string, count: number): Promise<void> {
  const path = join(directory, "ledger.jsonl");
  const lines = () => (existsSync(path) ? readFileSync(path, "utf8").split(`"of":"${of}"`).length - 1 : 0);
  await waitFor(() => lines() === count, { what: `${count} acts of ${of}`, timeoutMs: 60_000 });
}

const history = [await ask("historian", "the year was 1204"), await ask("historian", "and then came 1205")];
for (const turn of history) await awaitStatus(turn, "success");

const turns: ParkedTurns = {
  history,
  remote: await ask("remote", "please"),
  queued: await ask("remote", "after that"),
  late: await ask("late", "please"),
  claimed: await ask("claimed", "please"),
  local: await ask("local", "please"),
  boxed: await ask("boxed", "please"),
  mixed: await ask("mixed", "please"),
  forker: await ask("forker", "please"),
};

for (const turn of [turns.remote, turns.late, turns.claimed, turns.mixed, turns.forker]) {
  await awaitStatus(turn, "suspended");
}
await awaitStatus(turns.queued, "queued");
await awaitStatus(turns.local, "running");
await awaitStatus(turns.boxed, "running");
await awaitLedger(served, "claimed", 3);
await awaitLedger(bundle, "local", 2);
await awaitLedger(bundle, "boxed", 1);
await awaitLedger(bundle, "mixed", 1);
const RECEIVED = "select count(*) from state.calls where agent_turn_id = $1 and wait_status = 'received'";
await awaitCount("the quick call of the mixed step", RECEIVED, [turns.mixed], 1);
const AWAY = "select count(*) from state.calls where tool_name like 'away\\_\\_%' and wait_status = 'waiting'";
await awaitCount("two children and three agents to wait for `away`", AWAY, [], 5);
await kernel.announcer.settled();
process.stdout.write(`${JSON.stringify({ event: "parked", turns })}\n`);
