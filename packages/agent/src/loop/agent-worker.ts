// An agent worker: hears wakeups of its targets and takes turns forward, many at a time.
//
//   W1. A wakeup names only an agent; the inbox decides what there is to do. Wakeups of one agent are
//       coalesced: while its turn runs, one more look is remembered, however many wakeups come.
//   W2. At most `concurrencyMax` turns run. A suspended turn holds no place, no timer and no memory here but its share of a
//       bounded cache (box-cache.ts); one whose tool waits for another agent lends its place (lent-place.ts), or many such
//       turns would wait for children that find none.
//   W3. stop() takes no more turns; the running ones finish the step they are in, for which they have the grace, and are
//       then asked to let go. What is left is taken by others at the next sweep, from its last commit.
//   W4. A turn that this worker holds by the database and not in its memory would wait for ever while the worker lives: after
//       an error that leaves this in doubt it is claimed again, from its last commit. A lease that has run out and may yet be
//       renewed leaves it in doubt as well.
//   W5. A wakeup for an agent whose turn runs here may mean that an answer came in: the turn looks for it before its next step.
//       One that is not received here is found when the turn ends (kernel's 34_conversations.sql).
//   W6. What a bundle brings may be replaced while turns run: one that runs here goes on with what it was taken up with, until it
//       ends or waits for others. None is taken up while the new bundle's definitions are being written, so that each has
//       one bundle's definitions and code.

import { keepWorkerAlive, listenForWork, type Subscription, WorkSlots } from "@tessera/kernel";
import { durableOfProject, getHeader, HEADERS, parseSubject, workerDurable } from "@tessera/protocol";
import { createProjectTools } from "@tessera/tool/catalog";
import { WORKER_TARGET_DEFAULT } from "../profile.ts";
import { createAgentRuntime } from "../runtime/agent-runtime.ts";
import { createBoxCache } from "./box-cache.ts";
import { createConversations } from "./conversation.ts";
import { type LentPlace, lentPlace } from "./lent-place.ts";
import { readBox } from "./turn-session.ts";
import { workOnTurn } from "./work-on-turn.ts";
import type { AgentWorkerOptions, WorkerContext } from "./worker-context.ts";

export interface AgentWorker {
  /** What came of wakeups: `accepted`, `nothing`, or why an agent could not be taken. */
  readonly counts: ReadonlyMap<string, number>;
  /** Turns that run in this process now. */
  readonly running: number;
  /** Takes an agent forward now, without waiting for a wakeup. */
  wake(projectId: string, agentId: string): void;
  /** Turns that are taken up once `write` is done run with these parts (W6). It waits for nothing but the store. */
  replace(parts: BundleParts, write: () => Promise<void>): Promise<void>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** What a bundle brings (W6). Worker targets are added to those that are heard: turns of others may be left. */
export type BundleParts = Pick<AgentWorkerOptions, "runner" | "isHosted" | "extensions" | "workerTargets">;

const CONCURRENCY_DEFAULT = 16;
const GRACE_DEFAULT_MS = 10_000;
const IN_FLIGHT_MAX = 256;
const STORE_AWAY_MS = { min: 1_000, max: 60_000 };

export async function startAgentWorker(options: AgentWorkerOptions): Promise<AgentWorker> {
  const { bus, kernel, clock, onWarning = () => undefined } = options;
  const targets = options.workerTargets ?? [WORKER_TARGET_DEFAULT];
  const slots = new WorkSlots(options.concurrencyMax ?? CONCURRENCY_DEFAULT);
  const lease = await keepWorkerAlive({ ...options, workerTarget: targets[0] ?? WORKER_TARGET_DEFAULT, onWarning });
  let worker: WorkerContext = {
    ...options,
    onWarning,
    workerId: lease.workerId,
    isDraining: () => isDraining,
    tools: createProjectTools(kernel.reads, onWarning),
    boxes: createBoxCache((projectId, boxId, from) => readBox(options, projectId, boxId, from)),
    conversations: createConversations(kernel),
    wasWoken({ project_id, agent_id }) {
      const state = agents.get(`${project_id}/${agent_id}`);
      const isWoken = state?.isWoken ?? false;
      if (state !== undefined) state.isWoken = false;
      return isWoken;
    },
    runtimeFor(caller, signal) {
      const place = agents.get(`${caller.project_id}/${caller.agent_id}`)?.place;
      return createAgentRuntime({
        ...{ kernel, clock, caller, signal },
        ...(place === undefined ? {} : { whileWaiting: (work) => place.lendDuring(work) }), // W2
      });
    },
  };
  const stopping = new AbortController();
  const counts = new Map<string, number>();
  let isDraining = false;
  /** Agents at work here, whether a wakeup came meanwhile (W1), since their turn last asked (W5), and their turn's place (W2). */
  const agents = new Map<string, { isDirty: boolean; isWoken: boolean; place?: LentPlace }>();
  const running = new Set<Promise<void>>();
  /** The write that turns wait for (W6). */
  let replacing: Promise<void> | null = null;

  function wake(projectId: string, agentId: string): void {
    const run = workOnAgent(projectId, agentId).finally(() => running.delete(run));
    running.add(run);
  }

  async function workOnAgent(project_id: string, agent_id: string): Promise<void> {
    const key = `${project_id}/${agent_id}`;
    const busy = agents.get(key);
    if (busy !== undefined) {
      busy.isDirty = true;
      busy.isWoken = true;
      return;
    }
    const state: { isDirty: boolean; isWoken: boolean; place?: LentPlace } = { isDirty: true, isWoken: false };
    agents.set(key, state);
    await slots.take(); // W2
    const place = lentPlace(slots);
    state.place = place;
    let reclaim = false;
    let failures = 0;
    while (state.isDirty && !isDraining) {
      state.isDirty = false;
      while (replacing !== null) await replacing;
      try {
        if (worker.driver === undefined && options.loadDriver !== undefined)
          worker = { ...worker, driver: await options.loadDriver() };
        const agent = { project_id, agent_id, ...(reclaim ? { reclaim } : {}) };
        const answer = await workOnTurn(worker, agent, stopping.signal);
        counts.set(answer, (counts.get(answer) ?? 0) + 1);
        reclaim = false;
        failures = 0;
      } catch (error) {
        // The store is away. Whether this worker holds the turn is not known now, so it asks again (W4).
        onWarning(`a turn of ${agent_id} was interrupted: ${String(error)}`);
        reclaim = true;
        state.isDirty = true;
        failures += 1;
        const pauseMs = Math.min(STORE_AWAY_MS.min * 2 ** (failures - 1), STORE_AWAY_MS.max);
        await new Promise<void>((resolve) => void clock.after(pauseMs, resolve));
      }
    }
    agents.delete(key);
    place.release();
  }

  const sources = new Map<string, Subscription>();
  async function listenTo(target: string): Promise<void> {
    if (sources.has(target)) return;
    sources.set(
      target,
      await listenForWork({
        bus,
        kernel,
        clock,
        role: { worker_target: target, project: options.project },
        subscribe: {
          pattern: `cg.v1r4.${options.project ?? "*"}.*.cmd.agent.${target}.wakeup`,
          durable: durableOfProject((options.durableOf ?? workerDurable)(target), options.project),
          inFlightMax: IN_FLIGHT_MAX,
        },
        handler(delivery) {
          const project = parseSubject(delivery.subject)?.project_id;
          const agent = getHeader(delivery.headers, HEADERS.agent_id);
          delivery.ack();
          const isOurs = project !== undefined && (options.project === undefined || project === options.project);
          if (isOurs && agent !== null) wake(project, agent);
        },
        onWarning,
      }),
    );
  }
  for (const target of targets) await listenTo(target);

  return {
    counts,
    get running() {
      return slots.taken;
    },
    wake,
    async replace({ workerTargets = [], ...parts }, write) {
      const replaced = (async () => {
        await write();
        worker = { ...worker, ...parts };
      })();
      const settled = replaced.then(
        () => undefined,
        () => undefined,
      );
      const own = settled.finally(() => {
        if (replacing === own) replacing = null;
      });
      replacing = own;
      await replaced;
      if (!isDraining) for (const target of workerTargets) await listenTo(target);
    },
    async stop({ graceMs = GRACE_DEFAULT_MS } = {}) {
      isDraining = true;
      const grace = clock.after(graceMs, () => stopping.abort()); // W3
      await Promise.all([...sources.values()].map((source) => source.stop()));
      await Promise.all(running); // also those whose place is lent
      grace.cancel();
      await lease.stop();
    },
  };
}
