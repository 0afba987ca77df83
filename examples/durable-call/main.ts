// A durable call, end to end, with nothing but this repository: `node examples/durable-call/main.ts`.
//
// A process enqueues a turn in an embedded store; the turn calls four tools, each in a process of its own. Two tool processes
// are killed while they work, and then the whole process that holds the store is. A second one, started on the same directory,
// finishes the turn. At the end the store is opened once more and compared with what it must hold; a mismatch exits 1.
//
// Ctrl-C ends it at any moment: the processes are killed, the directory is removed, and it exits 130.
//
// usage: node main.ts [--json]

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkOutcome, type Outcome } from "./check-outcome.ts";
import { HolderChild } from "./holder-child.ts";
import { Screen } from "./screen.ts";
import { TOOLS } from "./tools.ts";

const EXIT_INTERRUPTED = 130;
const screen = new Screen(process.argv.includes("--json"));
const tell = screen.teller("story");
const children: HolderChild[] = [];
let isInterrupted = false;

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    for (const child of children) child.kill();
  });
}

const directory = await mkdtemp(join(tmpdir(), "tessera-example-"));
const data = join(directory, "data");
const ledger = join(directory, "side-effects.txt");

try {
  screen.title("One turn, four tool calls, three kills. Watch what is left of it.");
  const outcome = await story();
  stopIfInterrupted();
  screen.outcome(outcome);
  process.exitCode = outcome.mismatches.length === 0 ? 0 : 1;
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  if (isInterrupted) tell({ event: "interrupted", says: "interrupted" });
  else tell({ event: "failed", says: `the example failed: ${message}` });
  process.exitCode = isInterrupted ? EXIT_INTERRUPTED : 1;
} finally {
  for (const child of children) child.kill();
  await Promise.all(children.map((child) => child.ended()));
  // A tool process that is about to end may still write its line.
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
}

async function story(): Promise<Outcome> {
  tell({
    event: "started",
    says: "starting the first process on a new store (the very first time takes some seconds)",
  });
  const first = start("process 1", "enqueue");
  const turn = await first.event("turn.enqueued");
  await Promise.all(TOOLS.map((tool) => first.event("tool.working", tool.name)));
  for (const tool of TOOLS.filter((each) => each.fate === "answers")) await first.event("call.reported", tool.name);
  for (const tool of TOOLS.filter((each) => each.fate === "killed")) {
    const { pid = 0 } = await first.event("tool.working", tool.name);
    stopIfInterrupted();
    process.kill(pid, "SIGKILL");
    tell({
      event: "killed",
      says: `kill -9 ${pid}: ${tool.name}, after it acted and before it answered`,
      tool: tool.name,
      pid,
    });
    await first.event("tool.lost", tool.name);
  }
  stopIfInterrupted();
  first.kill();
  tell({ event: "killed", says: `kill -9 ${first.pid}: process 1, with everything in it`, pid: first.pid });
  expectEnd(await first.ended(), "SIGKILL");

  tell({ event: "started", says: "starting a second process on the same directory" });
  const second = start("process 2", "recover");
  await second.event("turn.finished");
  expectEnd(await second.ended(), "exit code 0");
  stopIfInterrupted();
  return await checkOutcome(data, ledger, String(turn.agent_turn_id));
}

function start(who: string, task: "enqueue" | "recover"): HolderChild {
  stopIfInterrupted();
  const child = new HolderChild([data, ledger, task], screen.teller(who));
  children.push(child);
  return child;
}

function stopIfInterrupted(): void {
  if (isInterrupted) throw new Error("interrupted");
}

function expectEnd(found: string, expected: string): void {
  if (found !== expected) throw new Error(`a process ended with ${found} instead of ${expected}`);
}
