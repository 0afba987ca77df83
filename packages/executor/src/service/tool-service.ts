// A tool service: hears the commands of a target on the bus, claims, runs, reports.
//
//   S1. The claim comes first and the database decides; the command is acked right after it, whatever its answer (design
//       D5). Redelivered commands are answered from the record: nothing runs twice because a message came twice.
//   S2. What is no command is terminated, counted and kept as a dead letter; it settles a call only if it shows that
//       call's ticket (faults §6: junk on the bus must not settle real calls).
//   S3. Name, after_execution and arguments come from the card and the pinned definition; a command that says otherwise is
//       counted, not obeyed.
//   S4. At most `concurrencyMax` tools run at once; a command that finds no place waits unclaimed, so another member of
//       the durable may take it.
//   S5. stop() takes no more work and waits for what runs; after the grace it lets go of the rest, whose leases then lapse.

import {
  type Bus,
  type Clock,
  type Delivery,
  type ExecutorPort,
  type Ids,
  listenForWork,
  type OpenedCall,
  type RegistryPort,
  type Subscription,
  unwatched,
  type WhileAtWork,
  WorkSlots,
  type WorkSourceOptions,
} from "@tessera/kernel";
import {
  CGError,
  durableOfProject,
  LEASE_MS,
  parseToolCommand,
  SUBJECT_VERSION,
  type SubjectVersion,
  type ToolCommand,
  toolDurable,
} from "@tessera/protocol";
import type { AgentToolRuntime, ToolLogEntry, ToolRunner } from "@tessera/tool";
import { LATE_CODES } from "../calls/late-codes.ts";
import { runCall } from "../calls/run-call.ts";
import { createDeadLetters } from "./dead-letters.ts";
import { progressPublisher } from "./progress.ts";
import { settleRefused } from "./settle-refused.ts";

export interface ToolServiceOptions {
  readonly bus: Bus;
  readonly kernel: ExecutorPort & Pick<RegistryPort, "putDeadLetter"> & WorkSourceOptions["kernel"];
  readonly clock: Clock;
  readonly ids: Ids;
  /** The target token of the subjects it serves. */
  readonly target: string;
  readonly runner: ToolRunner;
  /** This process's name in claims. */
  readonly executor: string;
  readonly principal?: string;
  /** Serve one project only; default all. */
  readonly project?: string;
  /** Protocol versions of the commands it hears. */
  readonly versions?: readonly SubjectVersion[];
  readonly concurrencyMax?: number;
  readonly leaseMs?: number;
  /** Around each call that is run. */
  readonly whileAtWork?: WhileAtWork | undefined;
  readonly runtimeFor?: (call: OpenedCall) => AgentToolRuntime | undefined;
  readonly onLog?: (entry: ToolLogEntry) => void;
  readonly onWarning?: (warning: string) => void;
}

export interface ToolService {
  /** How often each answer was given: `accepted`, codes of refused commands, `success` and the other result statuses. */
  readonly counts: ReadonlyMap<string, number>;
  readonly running: number;
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

const CONCURRENCY_DEFAULT = 16;
const GRACE_DEFAULT_MS = 30_000;
const STORE_AWAY_RETRY_MS = 1_000;
const VERSIONS_DEFAULT: readonly SubjectVersion[] = [SUBJECT_VERSION];

export async function startToolService(options: ToolServiceOptions): Promise<ToolService> {
  const { bus, kernel, clock, ids, target, onWarning = () => undefined } = options;
  const slots = new WorkSlots(options.concurrencyMax ?? CONCURRENCY_DEFAULT);
  const counts = new Map<string, number>();
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const deadLetters = createDeadLetters({ kernel, clock, count, onWarning });
  const publishProgress = progressPublisher({ bus, clock });
  const stopping = new AbortController();
  let isStopped = false;

  async function hear(delivery: Delivery): Promise<void> {
    let command: ToolCommand;
    try {
      command = parseToolCommand(delivery, { ids });
    } catch (error) {
      if (!CGError.is(error)) throw error;
      await refuse(delivery, error);
      return;
    }
    // On a bus that everybody hears, a service of one project leaves the others' calls alone.
    if (options.project !== undefined && command.ctx.project_id !== options.project) return delivery.ack();
    await slots.take(); // S4
    let isRunning = false;
    try {
      if (isStopped) return delivery.nak();
      const askedAtMs = clock.monotonicMs();
      const call = await claim(delivery, command);
      if (call === null) return;
      isRunning = true;
      void run(call, askedAtMs)
        .catch((error: unknown) => onWarning(`${call.tool_call_id} was let go: ${String(error)}`))
        .finally(() => slots.give());
    } catch (error) {
      // The store is away: the command is still true, and the next delivery or look asks again.
      onWarning(`opening ${command.ctx.tool_call_id} failed: ${String(error)}`);
      delivery.nak(STORE_AWAY_RETRY_MS);
    } finally {
      if (!isRunning) slots.give();
    }
  }

  async function claim(delivery: Delivery, { ctx, command, ticket, dropped, trace_restarted }: ToolCommand) {
    const outcome = await kernel.openCall({
      project_id: ctx.project_id,
      tool_call_id: ctx.tool_call_id ?? "",
      tool_call_card_id: command.tool_call_card_id,
      ...(ticket === null ? {} : { ticket }),
      executor: options.executor,
      ...(options.principal === undefined ? {} : { principal: options.principal }),
      lease_ms: options.leaseMs ?? LEASE_MS,
    });
    if (outcome.outcome === "rejected") {
      count(outcome.code);
      if (LATE_CODES.has(outcome.code)) delivery.ack();
      else {
        delivery.term(outcome.code); // S2
        await deadLetters.put(delivery, outcome.code, { project_id: ctx.project_id, tool_call_id: ctx.tool_call_id });
      }
      return null;
    }
    delivery.ack(); // S1
    count("accepted");
    if (dropped.length > 0) count("dropped_fields");
    if (trace_restarted) count("trace_restarted");
    const isOther = command.after_execution !== null && command.after_execution !== outcome.after_execution;
    if (isOther) count("after_execution_mismatch"); // S3
    if (command.tool_name !== null && command.tool_name !== outcome.tool_name) count("tool_name_mismatch");
    return outcome;
  }

  async function run(call: OpenedCall, askedAtMs: number): Promise<void> {
    const runtime = options.runtimeFor?.(call);
    const { whileAtWork = unwatched } = options;
    const atWork = { agent_turn_id: call.agent_turn_id, isSuspect: call.attempt > 1 };
    const runIt = () =>
      runCall(call, {
        port: kernel,
        runner: options.runner,
        clock,
        askedAtMs,
        ...(options.principal === undefined ? {} : { principal: options.principal }),
        ...(options.leaseMs === undefined ? {} : { leaseMs: options.leaseMs }),
        ...(options.onLog === undefined ? {} : { onLog: options.onLog }),
        ...(runtime === undefined ? {} : { runtime }),
        onProgress: publishProgress(call),
        stopping: stopping.signal,
        onWarning,
      });
    const ended = await whileAtWork(atWork, runIt);
    if (ended.ended === "lost") count("lost");
    else count(ended.outcome.outcome === "rejected" ? ended.outcome.code : ended.status);
  }

  async function refuse(delivery: Delivery, error: CGError): Promise<void> {
    count(error.code);
    delivery.term(error.code);
    const named = await settleRefused(delivery, error, options);
    await deadLetters.put(delivery, error.code, named, error.message);
  }

  const sources: Subscription[] = [];
  try {
    for (const version of options.versions ?? VERSIONS_DEFAULT) {
      sources.push(
        await listenForWork({
          bus,
          kernel,
          clock,
          role: { tool_target: target, ...(options.project === undefined ? {} : { project: options.project }) },
          subscribe: {
            pattern: `cg.${version}.${options.project ?? "*"}.*.cmd.tool.${target}.>`,
            durable: durableOfProject(toolDurable(target, version), options.project),
            inFlightMax: options.concurrencyMax ?? CONCURRENCY_DEFAULT,
          },
          handler: hear,
          onWarning,
        }),
      );
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
      const grace = clock.after(graceMs, () => stopping.abort()); // S5
      await Promise.all([stopped, slots.idle()]);
      grace.cancel();
    },
  };
}
