// The UI worker: takes actions from a user interface, runs each as a turn of one tool call, and acknowledges it.
//
//   U1. A command is answered and then acked: where the store or the bus is away it comes again, and coming twice is
//       harmless (admission's M2).
//   U2. The turns go through the loop of agent-worker.ts, whose driver is ui-driver.ts. It and all else of this folder is loaded
//       with the first action: most workers never see one.
//   U3. Ends of turns are heard as well: a turn that the kernel ended itself has no worker that acknowledges its action.

import type { Delivery } from "@tessera/kernel";
import {
  decodeJsonMessage,
  durableOfProject,
  getHeader,
  HEADERS,
  parseSubject,
  SUBJECT_VERSION,
} from "@tessera/protocol";
import { createProjectTools } from "@tessera/tool/catalog";
import { startAgentWorker } from "../loop/agent-worker.ts";
import { NO_MODELS } from "../loop/turn-driver.ts";
import type { AgentWorkerOptions } from "../loop/worker-context.ts";
import { UI_WORKER_TARGET } from "../profile.ts";

export type UiWorkerOptions = Omit<
  AgentWorkerOptions,
  "models" | "driver" | "loadDriver" | "workerTargets" | "durableOf" | "extensions"
>;

export interface UiWorker {
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const IN_FLIGHT_MAX = 64;
const AWAY_MS = 1_000;

export async function startUiWorker(options: UiWorkerOptions): Promise<UiWorker> {
  const { bus, kernel, ids, onWarning = () => undefined } = options;
  const tools = createProjectTools(kernel.reads, onWarning);
  const worker = await startAgentWorker({
    ...options,
    models: NO_MODELS,
    loadDriver: async () => (await import("./ui-driver.ts")).uiDriver(options), // U2
    workerTargets: [UI_WORKER_TARGET],
    durableOf: (target) => `ui_worker_wakeup_${target}_${SUBJECT_VERSION}`,
  });

  async function hear(delivery: Delivery): Promise<void> {
    try {
      const { ackMessage, admitUiAction, readUiAction } = await loadActions();
      const read = readUiAction(delivery, ids);
      if (read === null) return delivery.term("the subject is not one of ours");
      const [to, ack] =
        "action" in read
          ? [read.action, (await admitUiAction({ kernel, tools }, read.action)).ack]
          : [read.address, { status: "rejected" as const, error_code: read.refusal.code, error: read.refusal.message }];
      await bus.publish([ackMessage(to, ack, ids)]);
      delivery.ack();
    } catch (error) {
      onWarning(`a UI action was not answered: ${String(error)}`);
      delivery.nak(AWAY_MS); // U1
    }
  }

  /** U3 */
  async function hearEnd(delivery: Delivery): Promise<void> {
    const project_id = parseSubject(delivery.subject)?.project_id;
    const agent_turn_id = getHeader(delivery.headers, HEADERS.agent_turn_id);
    if (project_id === undefined || agent_turn_id === null || isSuccess(delivery)) return;
    const { ackMessage, ackOfEndedTurn } = await loadActions();
    const missing = await ackOfEndedTurn(kernel, { project_id, agent_turn_id });
    if (missing !== null) await bus.publish([ackMessage(missing.to, missing.ack, ids)]);
  }

  const subscribe = (subject: string, name: string, handler: (delivery: Delivery) => Promise<void>) =>
    bus.subscribe(
      {
        pattern: `cg.${SUBJECT_VERSION}.${options.project ?? "*"}.*.${subject}`,
        durable: durableOfProject(`ui_worker_${name}_${SUBJECT_VERSION}`, options.project),
        inFlightMax: IN_FLIGHT_MAX,
      },
      handler,
    );
  const actions = await subscribe("cmd.sys.ui.action", "ui_action", hear);
  const ends = await subscribe("evt.agent.*.task", "evt_task", hearEnd);

  return {
    async stop(grace) {
      await Promise.all([actions.stop(), ends.stop()]);
      await worker.stop(grace);
    },
  };
}

/** U2 */
async function loadActions() {
  return { ...(await import("./ui-action.ts")), ...(await import("./ui-admission.ts")) };
}

/** An event that cannot be read says nothing; the turn itself does. */
function isSuccess({ data }: Delivery): boolean {
  try {
    return decodeJsonMessage(data).status === "success";
  } catch {
    return false;
  }
}
