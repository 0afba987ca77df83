// The UI worker: takes actions from a user interface, runs each as a turn of one tool call, and acknowledges it.
//
//   U1. A command is answered and then acked: where the store or the bus is away it comes again, and coming twice is
//       harmless (admission's M2).
//   U2. Wakeups of one agent are coalesced, and the inbox decides what there is to do.
//   U3. At most `concurrencyMax` turns run; one whose tool runs elsewhere holds no place.
//   U4. Ends of turns are heard as well: one that the kernel ended has nobody else to acknowledge its action.
//   U5. stop() takes no more, lets go of what runs after a grace, and retires: others take over from the last commit.

import { type Delivery, keepWorkerAlive, listenForWork, type Subscription, WorkSlots } from "@tessera/kernel";
import {
  decodeJsonMessage,
  durableOfProject,
  getHeader,
  HEADERS,
  parseSubject,
  SUBJECT_VERSION,
} from "@tessera/protocol";
import { createProjectTools } from "@tessera/tool/catalog";
import { ackMessage, readUiAction } from "./ui-action.ts";
import { ackOfEndedTurn, admitUiAction, UI_WORKER_TARGET } from "./ui-admission.ts";
import { workOnUiTurn } from "./ui-turn.ts";
import type { UiWorkerOptions, UiWorld } from "./ui-world.ts";

export interface UiWorker {
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const CONCURRENCY_DEFAULT = 16;
const GRACE_DEFAULT_MS = 10_000;
const IN_FLIGHT_MAX = 64;
const AWAY_MS = 1_000;

export async function startUiWorker(options: UiWorkerOptions): Promise<UiWorker> {
  const { bus, kernel, clock, ids, onWarning = () => undefined } = options;
  const slots = new WorkSlots(options.concurrencyMax ?? CONCURRENCY_DEFAULT);
  const lease = await keepWorkerAlive({ ...options, workerTarget: UI_WORKER_TARGET, onWarning });
  const tools = createProjectTools(kernel.reads, onWarning);
  const only = options.project ?? "*";
  const world: UiWorld = { ...options, onWarning, workerId: lease.workerId, tools };
  const stopping = new AbortController();
  /** Agents at work here, and whether their bell rang meanwhile (U2). */
  const agents = new Map<string, { isDirty: boolean }>();

  async function hear(delivery: Delivery): Promise<void> {
    try {
      const read = readUiAction(delivery, ids);
      if (read === null) return delivery.term("the subject is not one of ours");
      const [to, ack] =
        "action" in read
          ? [read.action, (await admitUiAction(world, read.action)).ack]
          : [read.address, { status: "rejected" as const, error_code: read.refusal.code, error: read.refusal.message }];
      await bus.publish([ackMessage(to, ack, ids)]);
      delivery.ack();
    } catch (error) {
      onWarning(`a UI action was not answered: ${String(error)}`);
      delivery.nak(AWAY_MS); // U1
    }
  }

  /** U4 */
  async function hearEnd(delivery: Delivery): Promise<void> {
    const project_id = parseSubject(delivery.subject)?.project_id;
    const agent_turn_id = getHeader(delivery.headers, HEADERS.agent_turn_id);
    if (project_id === undefined || agent_turn_id === null || isSuccess(delivery)) return;
    const told = await ackOfEndedTurn(world, { project_id, agent_turn_id });
    if (told !== null) await bus.publish([ackMessage(told.to, told.ack, ids)]);
  }

  async function takeForward(project_id: string, agent_id: string): Promise<void> {
    const key = `${project_id}/${agent_id}`;
    const busy = agents.get(key);
    if (busy !== undefined) {
      busy.isDirty = true;
      return;
    }
    const state = { isDirty: true };
    agents.set(key, state);
    await slots.take(); // U3
    let reclaim = false;
    while (state.isDirty && !stopping.signal.aborted) {
      state.isDirty = false;
      try {
        await workOnUiTurn(world, { project_id, agent_id, ...(reclaim ? { reclaim } : {}) }, stopping.signal);
        reclaim = false;
      } catch (error) {
        // The store is away. Whether this worker holds the turn is not known now, so it asks again.
        onWarning(`an action of ${agent_id} was interrupted: ${String(error)}`);
        reclaim = true;
        state.isDirty = true;
        await new Promise<void>((resolve) => void clock.after(AWAY_MS, resolve));
      }
    }
    agents.delete(key);
    slots.give();
  }

  const actions: Subscription = await bus.subscribe(
    {
      pattern: `cg.${SUBJECT_VERSION}.${only}.*.cmd.sys.ui.action`,
      durable: durableOfProject(`ui_worker_ui_action_${SUBJECT_VERSION}`, options.project),
      inFlightMax: IN_FLIGHT_MAX,
    },
    hear,
  );
  const ends = await bus.subscribe(
    {
      pattern: `cg.${SUBJECT_VERSION}.${only}.*.evt.agent.*.task`,
      durable: durableOfProject(`ui_worker_evt_task_${SUBJECT_VERSION}`, options.project),
      inFlightMax: IN_FLIGHT_MAX,
    },
    hearEnd,
  );
  const wakeups = await listenForWork({
    bus,
    kernel,
    clock,
    role: { worker_target: UI_WORKER_TARGET, ...(options.project === undefined ? {} : { project: options.project }) },
    subscribe: {
      pattern: `cg.${SUBJECT_VERSION}.${only}.*.cmd.agent.${UI_WORKER_TARGET}.wakeup`,
      durable: durableOfProject(`ui_worker_wakeup_${UI_WORKER_TARGET}_${SUBJECT_VERSION}`, options.project),
      inFlightMax: IN_FLIGHT_MAX,
    },
    handler(delivery) {
      const project = parseSubject(delivery.subject)?.project_id;
      const agent = getHeader(delivery.headers, HEADERS.agent_id);
      delivery.ack();
      const isOurs = project !== undefined && (options.project === undefined || project === options.project);
      if (isOurs && agent !== null) void takeForward(project, agent);
    },
    onWarning,
  });

  return {
    async stop({ graceMs = GRACE_DEFAULT_MS } = {}) {
      await Promise.all([actions.stop(), ends.stop(), wakeups.stop()]);
      const grace = clock.after(graceMs, () => stopping.abort()); // U5
      await slots.idle();
      grace.cancel();
      stopping.abort();
      await lease.stop();
    },
  };
}

/** An event that cannot be read says nothing; the turn itself does. */
function isSuccess({ data }: Delivery): boolean {
  try {
    return decodeJsonMessage(data).status === "success";
  } catch {
    return false;
  }
}
