// Every (state, move) pair of every machine: the legal ones work, the illegal ones change no row. The tables are
// protocol's; a state or move that is added there without a case here fails.

import {
  BATCH_MOVES,
  BATCH_STATES,
  BATCH_TASK_MOVES,
  BATCH_TASK_STATES,
  CLAIM_MOVES,
  CLAIM_STATES,
  HEAD_MOVES,
  HEAD_STATES,
  INBOX_MOVES,
  INBOX_STATES,
  WAIT_MOVES,
  WAIT_STATES,
} from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { noteHang } from "../src/index.ts";
import { hold, PROJECT, type Started, type Suspended, useFixture } from "./fixture.ts";

const fx = useFixture();

type Machine = Readonly<Record<string, { readonly from: readonly string[]; readonly to: string }>>;

/** One machine: how to reach each state, how to try each move from it, and how to read the state. */
interface Bench<Subject> {
  readonly moves: Machine;
  readonly states: readonly string[];
  reach(state: string): Promise<Subject>;
  attempt(move: string, subject: Subject): Promise<void>;
  read(subject: Subject): Promise<string>;
}

function everyPair<Subject>(name: string, bench: Bench<Subject>): void {
  describe(`the ${name}`, () => {
    for (const state of bench.states) {
      for (const [move, { from, to }] of Object.entries(bench.moves)) {
        const isLegal = from.includes(state);
        it(isLegal ? `moves ${state} → ${to} by ${move}` : `stays ${state} when asked to ${move}`, async () => {
          const subject = await bench.reach(state);
          expect(await bench.read(subject)).toBe(state);
          // What earlier tests left due is rung now, so that a sweep below has only this subject to look at.
          await fx.kernel.sweep();
          const before = await fx.everything();
          await bench.attempt(move, subject);
          expect(await bench.read(subject)).toBe(isLegal ? to : state);
          if (!isLegal) expect(await fx.everything(), "an illegal move changes no row").toBe(before);
        });
      }
    }
  });
}

// ——— head

interface HeadSubject extends Started {
  readonly queued_turn_id: string | null;
}

async function reachHead(state: string): Promise<HeadSubject> {
  const agent = await fx.newAgent();
  const worker = await fx.newWorker();
  if (state === "idle") {
    return {
      project_id: PROJECT,
      agent_id: agent,
      agent_turn_id: "turn_none",
      turn_epoch: 0,
      output_box_id: "",
      worker_id: worker,
      queued_turn_id: null,
    };
  }
  const enqueued = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
  if (enqueued.outcome === "rejected") throw new Error(enqueued.code);
  const turn = {
    project_id: PROJECT,
    agent_id: agent,
    agent_turn_id: enqueued.agent_turn_id,
    turn_epoch: 1,
    output_box_id: "",
    worker_id: worker,
    queued_turn_id: enqueued.agent_turn_id,
  };
  if (state === "dispatched") return turn;
  const started = await fx.resumed(agent, worker);
  if (state === "running") return { ...started, queued_turn_id: null };
  return { ...(await fx.suspend(started)), queued_turn_id: null };
}

/** Lets the worker's lease lapse and sweeps, touching nothing else: time stands still for everybody but this worker. */
async function lapseWorker(workerId: string): Promise<void> {
  await fx.query("update state.workers set lease_until = $2 where worker_id = $1", [
    workerId,
    fx.clock.databaseTime().toISOString(),
  ]);
}

everyPair<HeadSubject>("head", {
  moves: HEAD_MOVES,
  states: HEAD_STATES,
  reach: reachHead,
  read: (subject) => fx.headStatus(subject),
  async attempt(move, turn) {
    const { kernel } = fx;
    switch (move) {
      case "dispatch":
        // The queue gives a turn to an idle head only; asking with a turn that is already there asks for no other.
        await kernel.enqueueTurn({ project_id: PROJECT, agent_id: turn.agent_id, message_type: "ui_action" });
        return;
      case "start":
        await kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
        return;
      case "resume": {
        if ((await fx.headStatus(turn)) === "suspended") {
          await fx.report(await fx.opened(turn as typeof turn & Suspended));
          await kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
        } else if ((await fx.headStatus(turn)) !== "dispatched") {
          await kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
        }
        return;
      }
      case "suspend":
        await kernel.suspendOnCalls({
          ...hold(turn),
          step_id: fx.ids.mint("step"),
          thought: { content: { text: "" } },
          calls: [fx.call()],
        });
        return;
      case "finish":
        await fx.finish(turn);
        return;
      case "stop":
        await kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
        return;
      case "defer":
        await kernel.deferTurn(hold(turn), "state_not_found");
        return;
      case "recover":
        if ((await fx.headStatus(turn)) === "running") await lapseWorker(turn.worker_id);
        await kernel.sweep();
        return;
      case "exhaust":
        if ((await fx.headStatus(turn)) === "running") {
          await fx.query("update state.agent_state_head set crash_count = 2 where agent_id = $1", [turn.agent_id]);
          await lapseWorker(turn.worker_id);
          await kernel.sweep();
        } else await hangTwice(turn.agent_turn_id);
        return;
      default:
        throw new Error(`no case for the head's move ${move}`);
    }
  },
});

/** As processes say that ran its code, one after the other. */
async function hangTwice(agentTurnId: string): Promise<void> {
  for (const hang_id of [fx.ids.mint("hang"), fx.ids.mint("hang")]) {
    await noteHang(fx.store.database, fx.clock, { hang_id, workers: [], blamed: [agentTurnId] });
  }
}

// ——— inbox: the row of a turn

interface InboxSubject {
  readonly turn_id: string;
  readonly turn: Started | null;
  readonly agent_id: string;
  readonly worker_id: string;
}

async function reachInbox(state: string): Promise<InboxSubject> {
  const agent = await fx.newAgent();
  const worker = await fx.newWorker();
  const enqueue = async () => {
    const outcome = await fx.kernel.enqueueTurn({ project_id: PROJECT, agent_id: agent });
    if (outcome.outcome === "rejected") throw new Error(outcome.code);
    return outcome.agent_turn_id;
  };
  const first = await enqueue();
  const subject = { turn_id: first, turn: null, agent_id: agent, worker_id: worker };
  if (state === "pending") return subject;
  if (state === "queued" || state === "skipped") {
    const second = await enqueue();
    if (state === "skipped") await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: second });
    return { ...subject, turn_id: second };
  }
  const started = await fx.resumed(agent, worker);
  if (state === "deferred") await fx.kernel.deferTurn(hold(started), "state_not_found");
  if (state === "consumed") await fx.finish(started);
  if (state === "error") {
    await fx.query("update state.agent_state_head set crash_count = 2 where agent_id = $1", [agent]);
    await lapseWorker(worker);
    await fx.kernel.sweep();
  }
  return { ...subject, turn: started };
}

everyPair<InboxSubject>("inbox row of a turn", {
  moves: INBOX_MOVES,
  states: INBOX_STATES,
  reach: reachInbox,
  async read(subject) {
    const rows = await fx.query<{ status: string }>("select status from state.inbox where inbox_id = $1", [
      subject.turn_id,
    ]);
    return rows[0]?.status ?? "none";
  },
  async attempt(move, subject) {
    const status = await this.read(subject);
    const turn = subject.turn;
    switch (move) {
      case "dispatch":
        // A queued row is dispatched when the turn before it ends; no other row ever is.
        if (status === "queued") await fx.finish(await fx.resumed(subject.agent_id, subject.worker_id));
        else await fx.kernel.sweep();
        return;
      case "claim":
        if (status === "deferred") await fx.clock.advance(2_000);
        if (status === "queued") return; // Its agent is busy with the turn before it; a worker would claim that one.
        await fx.kernel
          .renewWorker({ worker_id: subject.worker_id, worker_target: "workers" })
          .then(async (renewed) => {
            if (status === "pending" || status === "deferred") {
              const worker = renewed.outcome === "accepted" ? subject.worker_id : await fx.newWorker();
              await fx.kernel.resume({ project_id: PROJECT, agent_id: subject.agent_id, worker_id: worker });
            }
          });
        return;
      case "consume":
        if (turn !== null && status === "processing") await fx.finish(turn);
        else if (status === "pending" || status === "deferred")
          await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: subject.turn_id });
        else if (turn !== null) await fx.finish(turn);
        return;
      case "recover":
        if (status === "processing") await lapseWorker(subject.worker_id);
        await fx.kernel.sweep();
        return;
      case "defer":
        if (turn !== null) await fx.kernel.deferTurn(hold(turn), "state_not_found");
        return;
      case "fail":
        if (status === "processing") {
          await fx.query("update state.agent_state_head set crash_count = 2 where agent_id = $1", [subject.agent_id]);
          await lapseWorker(subject.worker_id);
        }
        if (status === "pending" || status === "deferred") await hangTwice(subject.turn_id);
        if (status === "queued") {
          // A candidate that lost its context is put aside when its time comes.
          await fx.query("update state.agent_turns set context_box_id = null where agent_turn_id = $1", [
            subject.turn_id,
          ]);
          await fx.finish(await fx.resumed(subject.agent_id, subject.worker_id));
        }
        await fx.kernel.sweep();
        return;
      case "cancel":
        if (status === "queued" || status === "skipped" || status === "consumed" || status === "error") {
          await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: subject.turn_id });
        }
        return;
      default:
        throw new Error(`no case for the inbox's move ${move}`);
    }
  },
});

// ——— wait

async function reachWait(state: string): Promise<Suspended & { capability: string }> {
  const turn = await fx.suspended();
  const opened = await fx.opened(turn);
  if (state !== "waiting") await fx.report(opened);
  if (state === "applied") await fx.resumed(turn.agent_id, turn.worker_id);
  if (state === "dropped") await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
  return { ...turn, capability: opened.capability };
}

everyPair("wait of a call", {
  moves: WAIT_MOVES,
  states: WAIT_STATES,
  reach: reachWait,
  async read(turn: Suspended & { capability: string }) {
    return String((await fx.kernel.reads.call(PROJECT, turn.calls[0]?.tool_call_id ?? ""))?.wait_status);
  },
  async attempt(move, turn) {
    const status = await this.read(turn);
    const callId = turn.calls[0]?.tool_call_id ?? "";
    if (move === "settle") {
      await fx.kernel.report({
        project_id: PROJECT,
        tool_call_id: callId,
        capability: turn.capability,
        content: { status: "success" },
      });
    } else if (move === "apply") {
      await fx.kernel.resume({ project_id: PROJECT, agent_id: turn.agent_id, worker_id: turn.worker_id });
    } else if (move === "drop") {
      // The turn of an applied call goes on without it; stopping that turn is legal and leaves the call alone.
      if (status !== "applied") await fx.kernel.stopTurn({ project_id: PROJECT, agent_turn_id: turn.agent_turn_id });
    } else throw new Error(`no case for the wait's move ${move}`);
  },
});

// ——— claim

everyPair("claim of a waiting call", {
  moves: CLAIM_MOVES,
  states: CLAIM_STATES,
  async reach(state): Promise<Suspended & { capability: string }> {
    const turn = await fx.suspended([{ effect: "read", timeout_ms: 3_600_000 }]);
    return { ...turn, capability: state === "claimed" ? (await fx.opened(turn)).capability : "00".repeat(32) };
  },
  async read(turn: Suspended & { capability: string }) {
    const call = await fx.kernel.reads.call(PROJECT, turn.calls[0]?.tool_call_id ?? "");
    return call?.claimed_by === null ? "unclaimed" : "claimed";
  },
  async attempt(move, turn) {
    const call = turn.calls[0];
    if (move === "open") {
      await fx.kernel.openCall({
        project_id: PROJECT,
        tool_call_id: call?.tool_call_id ?? "",
        ticket: call?.ticket ?? "",
        executor: "another",
      });
    } else if (move === "renew") {
      await fx.kernel.renewCall({
        project_id: PROJECT,
        tool_call_id: call?.tool_call_id ?? "",
        capability: turn.capability,
      });
    } else if (move === "repeat") {
      // What a service claimed it does not repeat so: the move leaves the call as it is (local-calls.test.ts has those it is for).
      await fx.kernel.repeatCall({
        project_id: PROJECT,
        tool_call_id: call?.tool_call_id ?? "",
        worker_id: turn.worker_id,
        attempt: 2,
      });
    } else if (move === "release") {
      if ((await this.read(turn)) === "claimed") {
        await fx.query("update state.calls set lease_until = $2, due_at = $2 where tool_call_id = $1", [
          call?.tool_call_id,
          fx.clock.databaseTime().toISOString(),
        ]);
      }
      await fx.kernel.sweep();
    } else throw new Error(`no case for the claim's move ${move}`);
  },
});

// ——— batch and its tasks

interface BatchSubject {
  readonly batch_id: string;
  readonly tasks: readonly string[];
}

async function openBatch(tasks = 2): Promise<BatchSubject> {
  const opened = await fx.opened(await fx.suspended([{ tool_name: "fork_join", author_id: "sys.pmo.batch_manager" }]));
  const batch_id = fx.ids.mint("batch");
  const ids = Array.from({ length: tasks }, () => fx.ids.mint("bt"));
  const outcome = await fx.kernel.openBatch({
    project_id: PROJECT,
    tool_call_id: opened.tool_call_id,
    capability: opened.capability,
    batch_id,
    deadline_ms: 900_000,
    tasks: ids.map((batch_task_id) => ({ batch_task_id })),
  });
  expect(outcome.outcome).toBe("accepted");
  return { batch_id, tasks: ids };
}

/** A batch ends as its tasks did. */
async function endBatch(batch: BatchSubject, status: string): Promise<void> {
  for (const batch_task_id of batch.tasks) {
    const task = { project_id: PROJECT, batch_task_id };
    await fx.kernel.moveBatchTask({ ...task, move: "dispatch", agent_turn_id: fx.ids.mint("turn") });
    await fx.kernel.moveBatchTask({ ...task, move: "settle", status });
  }
  await fx.kernel.finishBatch({
    project_id: PROJECT,
    batch_id: batch.batch_id,
    status,
    result: { results: [] },
    ...(status === "success" ? {} : { error: { code: "batch_failed", message: status } }),
  });
}

everyPair<BatchSubject>("batch", {
  moves: BATCH_MOVES,
  states: BATCH_STATES,
  async reach(state) {
    const batch = await openBatch();
    if (state !== "running") await endBatch(batch, state);
    return batch;
  },
  async read(batch) {
    return String((await fx.kernel.reads.batch(PROJECT, batch.batch_id))?.status);
  },
  async attempt(move, batch) {
    await endBatch(batch, (BATCH_MOVES as Machine)[move]?.to ?? "");
  },
});

everyPair<{ batch: BatchSubject; task: string }>("task of a batch", {
  moves: BATCH_TASK_MOVES,
  states: BATCH_TASK_STATES,
  async reach(state) {
    const batch = await openBatch(1);
    const task = batch.tasks[0] ?? "";
    if (state !== "pending")
      await fx.kernel.moveBatchTask({
        project_id: PROJECT,
        batch_task_id: task,
        move: "dispatch",
        agent_turn_id: fx.ids.mint("turn"),
      });
    if (state !== "pending" && state !== "dispatched") {
      await fx.kernel.moveBatchTask({ project_id: PROJECT, batch_task_id: task, move: "settle", status: state });
    }
    return { batch, task };
  },
  async read({ batch }) {
    const row = await fx.kernel.reads.batch(PROJECT, batch.batch_id);
    return ((row?.tasks ?? []) as { status: string }[])[0]?.status ?? "none";
  },
  async attempt(move, { task }) {
    const to = (BATCH_TASK_MOVES as Machine)[move]?.to ?? "";
    const kind = move === "dispatch" || move === "requeue" ? move : "settle";
    await fx.kernel.moveBatchTask({
      project_id: PROJECT,
      batch_task_id: task,
      move: kind,
      ...(kind === "settle" ? { status: to } : {}),
      ...(kind === "dispatch" ? { agent_turn_id: fx.ids.mint("turn") } : {}),
    });
  },
});
