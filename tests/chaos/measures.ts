// How fast things go on after a fault, read from the rows of the store and by its clock.
//
//   M1. worker_kill: from the kill to the moment when another worker took the turn, or it ended; one sample for each turn
//       that ran on the killed worker, as the store had it right after the kill.
//   M2. broker_return, two samples for each return. What is new: from the moment the broker answers again until both a command
//       and a wakeup that were made after it have come over it; meanwhile turns are asked for besides the load, all of which may
//       be waiting. What may be lost: until the last call and the last turn that was untaken at that moment is taken. Calls
//       of the edge come over HTTP, and what was announced without effect before is found by looking: neither says anything of the broker.
//   M3. A sample that does not come in time is an error, not a missing sample.
//   M4. One that comes later than promised is a violation. Times are those of the database; the tolerance is for a machine on
//       which load, servers and ten processes share the cores.
//   M5. Nothing is measured while a worker has a half-open line to the database, which still receives wakeups and wastes them, nor
//       while the stream of commands is deleted, when they are announced to no member: each of those is announced again after 5 s only. How
//       often that was so is counted. So is the kill of a worker that had been declared dead before: nothing was left to it.

import type { Database } from "@tessera/kernel";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";
import type { Recovery } from "../../scripts/proof/record.ts";
import { LEASE_MS, SWEEP_MS } from "./chaos-world.ts";

const LIMITS = { worker_kill: LEASE_MS + 2_000, broker_return: 2 * SWEEP_MS } as const;
const TOLERANCE_MS = 500;
const WAIT_MS_MAX = 60_000;
const BUSY_MS_MAX = 20_000;
const LOOK_MS = 200;

type MeasureName = keyof typeof LIMITS;
const MEASURES = Object.keys(LIMITS) as readonly MeasureName[];

const MOMENT = `select clock_timestamp()::text as at, (select coalesce(max(seq), 0) from state.events)::text as seq`;
const LIVE = "select worker_id, lease_until::text as lease_until from state.workers where lapsed_at is null";
const HELD = `
  select active_agent_turn_id as turn, turn_epoch::text as epoch, holder from state.agent_state_head
   where status = 'running' and holder is not null`;
/** Of the workers that lived: those that have neither been renewed nor declared dead, and those declared dead. */
const FATES = `
  select w.worker_id, w.lapsed_at is not null as is_dead
    from unnest($1::text[], $2::text[]) s (worker_id, lease_until)
    join state.workers w on w.worker_id = s.worker_id and w.lease_until = s.lease_until::timestamptz`;
const MOVED = `
  select h.turn, extract(epoch from min(e.created_at) - $4::timestamptz) * 1000 as ms
    from unnest($1::text[], $2::text[]) h (turn, epoch)
    left join state.events e on e.agent_turn_id = h.turn and e.seq > $3::bigint
     and (e.kind = 'task' or e.status = 'running' and e.turn_epoch > h.epoch::bigint)
   group by h.turn`;
const FLOWING = `
  select extract(epoch from (
    select min(c.claimed_at) from state.calls c
     where c.created_at > $1::timestamptz and c.attempt = 1 and c.rings = 0 and not c.local
       and c.tool_name not like 'edge\\_\\_%') - $1::timestamptz) * 1000 as command,
  extract(epoch from (
    select min(e.created_at) from state.events e join state.inbox n on n.inbox_id = e.agent_turn_id and n.rings = 0
     where e.seq > $2::bigint and n.created_at > $1::timestamptz and e.kind = 'state' and e.status = 'running'
  ) - $1::timestamptz) * 1000 as wakeup`;
const UNTAKEN = `
  select tool_call_id as id from state.calls
   where wait_status = 'waiting' and claimed_by is null and attempt = 0 and rings = 0 and not local
     and tool_name not like 'edge\\_\\_%'
  union all
  select inbox_id from state.inbox where status = 'pending' and rings = 0 and message_type = 'turn'`;
/** Of those, whether a worker has one now, and since when; no time: it was stopped first. */
const TAKEN = `
  select coalesce(c.attempt > 0 or c.wait_status <> 'waiting', n.status <> 'pending') as is_taken,
         extract(epoch from coalesce(case when c.attempt = 1 then c.claimed_at end, (
           select min(e.created_at) from state.events e
            where e.agent_turn_id = n.inbox_id and e.seq > $2::bigint and e.kind = 'state' and e.status = 'running'
         )) - $3::timestamptz) * 1000 as ms
    from unnest($1::text[]) l (id)
    left join state.calls c on c.tool_call_id = l.id left join state.inbox n on n.inbox_id = l.id`;
/** Workers with two turns, of which one may end before the kill. */
const BUSY = `
  select count(*)::int as busy from (
    select holder from state.agent_state_head where status = 'running' group by holder having count(*) > 1) h`;

export class Measures {
  /** M5 */
  readonly leftOut: Record<MeasureName, number> = { worker_kill: 0, broker_return: 0 };
  readonly #database: Database;
  readonly #nudge: () => void;
  readonly #samples: Record<MeasureName, number[]> = { worker_kill: [], broker_return: [] };
  #disturbedUntilMs = 0;

  /** `nudge` asks for one more turn. */
  constructor(database: Database, nudge: () => void) {
    this.#database = database;
    this.#nudge = nudge;
  }

  /** For so long nothing is measured (M5). */
  disturbedFor(ms: number): void {
    this.#disturbedUntilMs = Math.max(this.#disturbedUntilMs, performance.now() + ms);
  }

  /** Waits a little for a moment in which every worker holds a turn, so that a kill hurts. */
  async workersBusy(workers: number): Promise<void> {
    const isBusy = async () => (await this.#database.query<{ busy: number }>(BUSY))[0]?.busy === workers;
    await waitFor(isBusy, { what: "busy workers", timeoutMs: BUSY_MS_MAX }).catch(() => undefined);
  }

  /** To be called when the worker is gone; what it answers resolves when all its turns have moved on (M1). */
  async workerKilled(): Promise<() => Promise<void>> {
    const keep = this.#keeping("worker_kill");
    const { at, seq } = await this.#moment();
    const live = await this.#database.query<{ worker_id: string; lease_until: string }>(LIVE);
    const held = await this.#database.query<{ turn: string; epoch: string; holder: string }>(HELD);
    return async () => {
      const dead = await this.#waitFor("the killed worker to be declared dead", async () => {
        const columns = [live.map((row) => row.worker_id), live.map((row) => row.lease_until)];
        const rows = await this.#database.query<{ worker_id: string; is_dead: boolean }>(FATES, columns);
        // The living renew their leases, so in the end there are none but the killed one's, or none at all (M5).
        return rows.every((row) => row.is_dead) ? new Set(rows.map((row) => row.worker_id)) : null;
      });
      if (dead.size === 0) return keep.leaveOut();
      const lost = held.filter(({ holder }) => dead.has(holder));
      const columns = [lost.map(({ turn }) => turn), lost.map(({ epoch }) => epoch), seq, at];
      const moved = await this.#waitFor("the turns of the killed worker to move on", async () => {
        const rows = await this.#database.query<{ turn: string; ms: number | null }>(MOVED, columns);
        return rows.every((row) => row.ms !== null) ? rows : null;
      });
      keep.samples(...moved.map(({ ms }) => Number(ms)));
    };
  }

  /** To be called when the broker answers again; what it answers resolves when messages flow and nothing is lost (M2). */
  async brokerReturned(): Promise<() => Promise<string>> {
    const keep = this.#keeping("broker_return");
    const { at, seq } = await this.#moment();
    const untaken = (await this.#database.query<{ id: string }>(UNTAKEN)).map(({ id }) => id);
    return async () => {
      const flow = await this.#waitFor("messages to flow again", async () => {
        this.#nudge();
        const [row] = await this.#database.query<{ command: number | null; wakeup: number | null }>(FLOWING, [at, seq]);
        return row === undefined || row.command === null || row.wakeup === null ? null : row;
      });
      const [command, wakeup] = [Math.round(Number(flow.command)), Math.round(Number(flow.wakeup))];
      const flows = `a command after ${command} ms, a wakeup after ${wakeup} ms`;
      const taken = await this.#waitFor("all that was untaken to be taken", async () => {
        const rows = await this.#database.query<{ is_taken: boolean; ms: number | null }>(TAKEN, [untaken, seq, at]);
        return rows.every((row) => row.is_taken) ? rows : null;
      });
      const times = taken.flatMap(({ ms }) => (ms === null ? [] : [Math.round(Number(ms))]));
      const last = Math.max(...times);
      keep.samples(Math.max(command, wakeup), ...(times.length === 0 ? [] : [last]));
      return times.length === 0 ? flows : `${flows}, the last of ${times.length} that waited after ${last} ms`;
    };
  }

  recovery(name: MeasureName): Recovery | null {
    const sorted = this.#samples[name].toSorted((a, b) => a - b).map(Math.round);
    const worst = sorted.at(-1);
    if (worst === undefined) return null;
    const median = sorted[Math.floor(sorted.length / 2)] ?? worst;
    return { samples: sorted.length, median, worst, limit: LIMITS[name] };
  }

  /** M4 */
  late(): readonly string[] {
    return MEASURES.flatMap((name) => lateness(name, this.recovery(name)) ?? []);
  }

  /** M5: decided now, whenever the samples come. */
  #keeping(name: MeasureName): { samples(...ms: number[]): void; leaveOut(): void } {
    let isLeftOut = false;
    const leaveOut = () => {
      if (!isLeftOut) this.leftOut[name]++;
      isLeftOut = true;
    };
    if (performance.now() < this.#disturbedUntilMs) leaveOut();
    return { leaveOut, samples: (...ms) => void (isLeftOut || this.#samples[name].push(...ms)) };
  }

  async #moment(): Promise<{ readonly at: string; readonly seq: string }> {
    const [row] = await this.#database.query<{ at: string; seq: string }>(MOMENT);
    if (row === undefined) throw new Error("the database has no time");
    return row;
  }

  /** M3 */
  async #waitFor<T>(what: string, ask: () => Promise<T>): Promise<NonNullable<T>> {
    return await waitFor(ask, { what, timeoutMs: WAIT_MS_MAX, intervalMs: LOOK_MS });
  }
}

/** Null: as fast as promised, or nothing to measure. */
export function lateness(name: string, recovery: Recovery | null): string | null {
  if (recovery === null || recovery.worst <= recovery.limit + TOLERANCE_MS) return null;
  return `${name} took ${recovery.worst} ms; ${recovery.limit} ms are promised`;
}
