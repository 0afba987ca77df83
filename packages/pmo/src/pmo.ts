// The PMO: answers the internal tools on the bus, and looks after batches and stopped turns.
//
//   S1. The claim comes first and the database decides; the command is acked right after it, whatever its answer (design
//       D5). A command that comes twice, or to two PMOs, is run once.
//   S2. What an internal tool makes has ids of its call, so a run that died half-way is done again by the next claim
//       without doubling anything: the tools are `idempotent`.
//   S3. At most `concurrencyMax` calls are worked on at once; a command that finds no place waits unclaimed. A batch that
//       waits for its children takes no place.
//   S4. stop() takes no more work and resolves when what runs has ended, or after a grace, when its leases may lapse.

import {
  type Bus,
  type Clock,
  type Delivery,
  type Ids,
  type Kernel,
  listenForWork,
  type OpenedCall,
  type Timer,
  WorkSlots,
} from "@tessera/kernel";
import {
  CGError,
  type ErrorCode,
  LEASE_MS,
  parseToolCommand,
  pmoDurable,
  SUBJECT_VERSION,
  type ToolCommand,
} from "@tessera/protocol";
import { startReconciler } from "./batches/reconciler.ts";
import { inCallersName } from "./delegation/caller.ts";
import { holdCall } from "./service/call-lease.ts";
import { INTERNAL_TOOL_NAMES, type InternalToolName, internalToolOf } from "./service/internal-tools.ts";
import { createRefusals } from "./service/refused-command.ts";
import { contentOf, failedContent } from "./tool-answer.ts";

export interface PmoOptions {
  readonly bus: Bus;
  readonly kernel: Kernel;
  readonly clock: Clock;
  readonly ids: Ids;
  /** This process's name in claims. */
  readonly executor: string;
  readonly concurrencyMax?: number;
  /** Default: all of them. */
  readonly tools?: readonly InternalToolName[];
  readonly onWarning?: (warning: string) => void;
}

export interface Pmo {
  /** How often each answer was given: result statuses, `withheld`, codes of refused commands. */
  readonly counts: ReadonlyMap<string, number>;
  /** Looks after batches and stopped turns now, without waiting for the next second. */
  reconcile(): Promise<void>;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** The target of its commands, as the kernel names it (l0.target_of). */
const PMO_TARGET = "sys.pmo";
const CONCURRENCY_DEFAULT = 16;
const GRACE_DEFAULT_MS = 30_000;
const STORE_AWAY_RETRY_MS = 1_000;
/** Not the sender's fault: somebody else has the call, or it is over. */
const LATE: ReadonlySet<ErrorCode> = new Set(["already_claimed", "already_settled", "stale_attempt", "tool_timeout"]);

export async function startPmo(options: PmoOptions): Promise<Pmo> {
  const { bus, kernel, clock, ids, executor, onWarning = () => undefined } = options;
  const concurrencyMax = options.concurrencyMax ?? CONCURRENCY_DEFAULT;
  const offered = options.tools ?? INTERNAL_TOOL_NAMES;
  const slots = new WorkSlots(concurrencyMax);
  const refusals = createRefusals({ kernel, clock, executor, onWarning });
  const counts = new Map<string, number>();
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
  let isStopped = false;

  async function hear(delivery: Delivery): Promise<void> {
    let command: ToolCommand;
    try {
      command = parseToolCommand(delivery, { ids });
    } catch (error) {
      if (!CGError.is(error)) throw error;
      count(error.code);
      delivery.term(error.code);
      return await refusals.refuse(delivery, error, { maySettle: true });
    }
    await slots.take(); // S3
    let isRunning = false;
    try {
      if (isStopped) return delivery.nak();
      const askedAtMs = clock.monotonicMs();
      const call = await claim(delivery, command);
      if (call === null) return;
      isRunning = true;
      void run(command, call, askedAtMs).finally(() => slots.give());
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
      ...(ticket === null ? {} : { ticket }),
      executor,
      lease_ms: LEASE_MS,
    });
    if (outcome.outcome === "accepted") {
      delivery.ack(); // S1
      return outcome;
    }
    count(outcome.code);
    if (LATE.has(outcome.code)) delivery.ack();
    else {
      delivery.term(outcome.code);
      const error = new CGError(outcome.code, `the call was not opened: ${outcome.code}`);
      await refusals.refuse(delivery, error, { maySettle: false });
    }
    return null;
  }

  async function run(command: ToolCommand, call: OpenedCall, askedAtMs: number): Promise<void> {
    const lease = holdCall(call, { kernel, clock, askedAtMs, onWarning });
    try {
      const content = await answer(command, call);
      if (content === "withheld") {
        count("withheld");
        void reconciler.look();
        return;
      }
      const outcome = await lease.report(content);
      count(outcome === null ? "lost" : outcome.outcome === "rejected" ? outcome.code : content.status);
    } catch (error) {
      onWarning(`the call ${call.tool_call_id} of ${call.tool_name} was let go: ${String(error)}`); // S2
    } finally {
      lease.release();
    }
  }

  async function answer(command: ToolCommand, call: OpenedCall) {
    try {
      const tool = internalToolOf(command, call, offered);
      const result = await tool(kernel, await inCallersName(kernel.reads, call));
      return result === "withheld" ? result : contentOf(result, call);
    } catch (error) {
      if (!CGError.is(error)) onWarning(`${call.tool_name} failed: ${String(error)}`);
      return failedContent(error, call);
    }
  }

  const reconciler = await startReconciler({ bus, kernel, clock, onWarning });
  const source = await listenForWork({
    bus,
    kernel,
    clock,
    role: { tool_target: PMO_TARGET },
    subscribe: {
      pattern: `cg.${SUBJECT_VERSION}.*.*.cmd.sys.pmo.>`,
      durable: pmoDurable(),
      inFlightMax: concurrencyMax,
    },
    handler: hear,
    onWarning,
  }).catch(async (error) => {
    await reconciler.stop();
    throw error;
  });

  return {
    counts,
    reconcile: () => reconciler.look(),
    async stop({ graceMs = GRACE_DEFAULT_MS } = {}) {
      isStopped = true;
      const drained = Promise.all([source.stop(), reconciler.stop()]).then(() => slots.idle());
      let grace: Timer | null = null;
      const expired = new Promise<void>((resolve) => {
        grace = clock.after(graceMs, resolve);
      });
      await Promise.race([drained, expired]); // S4
      (grace as Timer | null)?.cancel();
    },
  };
}
