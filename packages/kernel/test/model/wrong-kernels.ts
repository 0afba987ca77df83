// Kernels with one mistake each: what the model test is worth is that it distinguishes every one of them from the right one.
// A mistake is a piece of text in one function of l0, replaced in the test's own database and put back afterwards.

import { changeFunctions, type FunctionChange } from "@tessera/testkit/changed-functions";
import type { Fixture } from "../fixture.ts";

export interface Mistake extends FunctionChange {
  readonly says: string;
  /** The first sequence of the test's seed that shows the mistake. */
  readonly noticedAt: number;
}

export const MISTAKES: readonly Mistake[] = [
  {
    says: "what a worker writes is not fenced by the epoch",
    fn: "refuse_worker",
    from: " or h.turn_epoch is distinct from (item ->> 'turn_epoch')::bigint",
    to: "",
    noticedAt: 3,
  },
  {
    says: "a step is committed whatever its epoch",
    fn: "suspend_on_calls",
    from: " or h.turn_epoch is distinct from i.turn_epoch then 'stale_epoch'",
    to: " then 'stale_epoch'",
    noticedAt: 0,
  },
  {
    says: "a report settles a call that the deadline or a crash settled before (no compare-and-set)",
    fn: "report_at",
    from: "when c.wait_status <> 'waiting' then case when c.settled_by = 'report' then 'duplicate' else 'already_settled' end",
    to: "when c.wait_status <> 'waiting' and c.settled_by = 'report' then 'duplicate'",
    noticedAt: 10,
  },
  {
    says: "the lease of an executor never lapses",
    fn: "sweep_call",
    from: "if alive_until > moment then",
    to: "if alive_until is not null then",
    noticedAt: 56,
  },
  {
    says: "a worker whose lease ran out may take turns",
    fn: "resume",
    from: "w.worker_id = i.worker_id and w.lease_until > moment and w.lapsed_at is null",
    to: "w.worker_id = i.worker_id",
    noticedAt: 9,
  },
  {
    says: "a call that an executor holds is given to the next that asks",
    fn: "open_call_at",
    from: "when c.claimed_by is not null then 'already_claimed'",
    to: "when false then 'already_claimed'",
    noticedAt: 13,
  },
  {
    says: "a claim that is asked for again is given to another principal",
    fn: "open_call_at",
    from: " and c.principal is not distinct from i.principal then 'reopened'",
    to: " then 'reopened'",
    noticedAt: 62,
  },
  {
    says: "an attempt that lost its lease may still report",
    fn: "report_at",
    from: "when c.cap_sha256 is distinct from i.shown then",
    to: "when c.cap_sha256 is distinct from i.shown and not coalesce(i.shown = any (c.stale_caps), false) then",
    noticedAt: 32,
  },
  {
    says: "a call of effect once is run again after a crash",
    fn: "lapse_call",
    from: "if c.effect = 'once' and not c.can_reconcile then",
    to: "if false then",
    noticedAt: 8,
  },
  {
    says: "the newest queued turn is dispatched first",
    fn: "dispatch_next",
    from: "order by i.queue_order limit 1",
    to: "order by i.queue_order desc limit 1",
    noticedAt: 4,
  },
  {
    says: "a call that waits out its back-off is given to any executor that asks for work",
    fn: "claim_calls",
    from: " and (c.attempt = 0 or c.rings > 0 or c.due_at <= moment)",
    to: "",
    noticedAt: 62,
  },
  {
    says: "an inactive project takes turns",
    fn: "enqueue_one",
    from: "if project_status <> 'active' then",
    to: "if false then",
    noticedAt: 14,
  },
  {
    says: "a project is deleted while turns of it are open",
    fn: "delete_project",
    from: "if open_turns > 0 then",
    to: "if false then",
    noticedAt: 0,
  },
  {
    says: "what a plain function left over is answered in another item's place",
    fn: "in_place",
    from: "select json_agg(a.answer order by a.n)",
    to: "select json_agg(a.answer order by a.n desc)",
    noticedAt: 13,
  },
  {
    says: "a batch succeeds although a task of it failed",
    fn: "finish_batch",
    from: " or (i.status = 'success') <> bool_and(t.status = 'success')",
    to: "",
    noticedAt: 3,
  },
  {
    says: "a plain function opens a call whose deadline has passed",
    fn: "open_plainly",
    from: " and c.deadline_at > moment",
    to: "",
    noticedAt: 47,
  },
  {
    says: "a plain function ends a turn whatever its epoch",
    fn: "finish_plainly",
    from: "h.turn_epoch = i.turn_epoch and h.status = 'running' and",
    to: "h.status = 'running' and",
    noticedAt: 21,
  },
  {
    says: "a plain function ends a turn and leaves the next one in its queue",
    fn: "finish_plainly",
    from: " and h.queue_length = 0",
    to: "",
    noticedAt: 3,
  },
  {
    says: "a plain function dispatches a turn to an agent that is at work",
    fn: "enqueue_idle",
    from: " and h.status = 'idle' and h.queue_length = 0",
    to: "",
    noticedAt: 0,
  },
];

/** Answers what puts the right function back. */
export function makeMistake(fixture: Fixture, mistake: Mistake): Promise<() => Promise<void>> {
  return changeFunctions(fixture.store.database, [mistake]);
}
