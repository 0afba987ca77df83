// Serves the commands of a target: hears them, claims their calls, works on them under their lease, reports. What the work is,
// `work` says: a tool service runs tools, the PMO its internal ones.
//
//   S1. The claim comes first and the database decides; the command is acked right after it, whatever its answer. A command
//       that comes twice, or to two executors, is worked on once.
//   S2. What is no command is terminated, counted and kept as a dead letter (refused-commands.ts).
//   S3. At most `concurrencyMax` calls are worked on at once; a command that finds no place waits unclaimed, so another
//       member of the durable may take it.
//   S4. stop() takes no more work and waits for what runs; after the grace it lets go of the rest, whose leases then lapse.
//   S5. What a call is, its card and its pinned definition say; a command that says otherwise is counted, not obeyed.

import { LEASE_MS, parseToolCommand, TesseraError, type ToolCommand } from "@tessera/protocol";
import type { ExecutorPort } from "../moves/executor-port.ts";
import type { OpenedCall } from "../moves/outcomes.ts";
import type { RegistryPort } from "../moves/registry-port.ts";
import type { Bus, Clock, Delivery, Ids, SubscribeOptions, Subscription } from "../ports.ts";
import { unwatched, type WhileAtWork } from "../recovery/hangs.ts";
import { createRefusedCommands, LATE_CODES } from "./refused-commands.ts";
import { type WorkedCall, workOnCall } from "./work-on-call.ts";
import { WorkSlots } from "./work-slots.ts";
import { listenForWork, type WorkSourceOptions } from "./work-source.ts";

export interface ServeCommandsOptions {
  readonly bus: Bus;
  readonly kernel: ExecutorPort & Pick<RegistryPort, "putDeadLetter"> & WorkSourceOptions["kernel"];
  readonly clock: Clock;
  readonly ids: Ids;
  /** This process's name in claims. */
  readonly executor: string;
  readonly principal?: string | undefined;
  /** The target token of the commands' subjects, as the kernel names it (l0.target_of). */
  readonly target: string;
  /** Serve this project only; default all. */
  readonly project?: string | undefined;
  /** Where its commands come from. */
  readonly sources: readonly Pick<SubscribeOptions, "pattern" | "durable">[];
  readonly concurrencyMax?: number | undefined;
  readonly leaseMs?: number | undefined;
  /** Does what a claimed call asks for; `signal` is aborted when the call is lost (work-on-call.ts). */
  readonly work: (claimed: ClaimedCall, signal: AbortSignal) => Promise<WorkedCall | "withheld">;
  /** Around each call that is worked on. */
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly onWarning: (warning: string) => void;
}

interface ClaimedCall {
  readonly call: OpenedCall;
  /** The command that brought it; what it says beside the ticket is not believed (S5). */
  readonly command: ToolCommand;
}

export interface CommandService {
  /** How often each answer was given: `accepted`, codes of refused commands, result statuses, `lost`, `withheld`. */
  readonly counts: ReadonlyMap<string, number>;
  readonly running: number;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const CONCURRENCY_DEFAULT = 16;
const GRACE_DEFAULT_MS = 30_000;
const STORE_AWAY_RETRY_MS = 1_000;

export async function serveCommands(options: ServeCommandsOptions): Promise<CommandService> {
  const { bus, kernel, clock, ids, executor, principal, target, project, whileAtWork = unwatched, onWarning } = options;
  const leaseMs = options.leaseMs ?? LEASE_MS;
  const concurrencyMax = options.concurrencyMax ?? CONCURRENCY_DEFAULT;
  const slots = new WorkSlots(concurrencyMax);
  const counts = new Map<string, number>();
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const refused = createRefusedCommands({ kernel, clock, executor, principal, count, onWarning });
  const stopping = new AbortController();
  let isStopped = false;

  async function hear(delivery: Delivery): Promise<void> {
    let command: ToolCommand;
    try {
      command = parseToolCommand(delivery, { ids });
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      count(error.code);
      delivery.term(error.code); // S2
      return await refused.unreadable(delivery, error);
    }
    // On a bus that everybody hears, a service of one project leaves the others' calls alone.
    if (project !== undefined && command.ctx.project_id !== project) return delivery.ack();
    await slots.take(); // S3
    let isRunning = false;
    try {
      if (isStopped) return delivery.nak();
      const askedAtMs = clock.monotonicMs();
      const call = await claim(delivery, command);
      if (call === null) return;
      isRunning = true;
      void work(call, command, askedAtMs).finally(() => slots.give());
    } catch (error) {
      // The store is away: the command is still true, and the next delivery or look asks again.
      onWarning(`opening ${command.ctx.tool_call_id} failed: ${String(error)}`);
      delivery.nak(STORE_AWAY_RETRY_MS);
    } finally {
      if (!isRunning) slots.give();
    }
  }

  async function claim(delivery: Delivery, { ctx, command, ticket }: ToolCommand): Promise<OpenedCall | null> {
    const outcome = await kernel.openCall({
      project_id: ctx.project_id,
      tool_call_id: ctx.tool_call_id ?? "",
      tool_call_card_id: command.tool_call_card_id,
      ticket: ticket ?? undefined,
      executor,
      principal,
      lease_ms: leaseMs,
    });
    if (outcome.outcome === "accepted") {
      delivery.ack(); // S1
      count("accepted");
      return outcome;
    }
    count(outcome.code);
    if (LATE_CODES.has(outcome.code)) delivery.ack();
    else {
      delivery.term(outcome.code); // S2
      const { project_id, tool_call_id } = ctx;
      await refused.unopened(delivery, outcome.code, { project_id, tool_call_id: tool_call_id ?? undefined });
    }
    return null;
  }

  async function work(call: OpenedCall, command: ToolCommand, askedAtMs: number): Promise<void> {
    const own = { port: kernel, clock, principal, leaseMs, askedAtMs, stopping: stopping.signal, onWarning };
    const atWork = { agent_turn_id: call.agent_turn_id, isSuspect: call.attempt > 1 };
    countDifferences(call, command, count); // S5
    try {
      const end = await whileAtWork(atWork, () =>
        workOnCall(call, own, (signal) => options.work({ call, command }, signal)),
      );
      if (end.ended !== "reported") count(end.ended);
      else count(end.outcome.outcome === "rejected" ? end.outcome.code : end.status);
    } catch (error) {
      onWarning(`${call.tool_call_id} of ${call.tool_name} was let go: ${String(error)}`);
    }
  }

  const sources: Subscription[] = [];
  try {
    for (const source of options.sources) {
      const role = { tool_target: target, ...(project === undefined ? {} : { project }) };
      const subscribe = { ...source, inFlightMax: concurrencyMax };
      sources.push(await listenForWork({ bus, kernel, clock, role, subscribe, handler: hear, onWarning }));
    }
  } catch (error) {
    await Promise.all(sources.map((source) => source.stop()));
    throw error;
  }

  return {
    counts,
    get running() {
      return slots.taken;
    },
    async stop({ graceMs = GRACE_DEFAULT_MS } = {}) {
      isStopped = true;
      const stopped = Promise.all(sources.map((source) => source.stop()));
      const grace = clock.after(graceMs, () => stopping.abort()); // S4
      await Promise.all([stopped, slots.idle()]);
      grace.cancel();
    },
  };
}

/** S5 */
function countDifferences(
  call: OpenedCall,
  { command, dropped, trace_restarted }: ToolCommand,
  count: (what: string) => void,
): void {
  if (dropped.length > 0) count("dropped_fields");
  if (trace_restarted) count("trace_restarted");
  const { after_execution, tool_name } = command;
  if (after_execution !== null && after_execution !== call.after_execution) count("after_execution_mismatch");
  if (tool_name !== null && tool_name !== call.tool_name) count("tool_name_mismatch");
}
