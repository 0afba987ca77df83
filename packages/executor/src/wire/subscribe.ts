// Brings the commands of a target to a hand-written handler.
//
//   U1. A handler that read its card has claimed the call and the command is acked. One that returns without reading is
//       acked, too: it did not want the call, and the sweeper rings again. One that throws before the claim is asked again.
//   U2. A call that another executor has is no failure of the handler.

import {
  type Bus,
  type Clock,
  type Delivery,
  LATE_CODES,
  listenForWork,
  type Subscription,
  type WorkSourceOptions,
} from "@tessera/kernel";
import { durableOfProject, SUBJECT_VERSION, type SubjectVersion, TesseraError, toolDurable } from "@tessera/protocol";

import type { CardBox } from "./card-box.ts";

/** What `subscribeToolCommands` listens with. */
export interface ToolCommandsOptions {
  /** Where commands are heard; `connectExecutor` has one. */
  readonly bus: Bus;
  /** Finds commands that the bus lost; without it a dead bus stops this service. */
  readonly kernel: WorkSourceOptions["kernel"];
  /** For looking again; `connectExecutor` has one. */
  readonly clock: Clock;
  /** Whose commands it hears: the target of the tools' `target_subject`. */
  readonly target: string;
  /** Commands of this project only; without it those of all. */
  readonly project?: string | undefined;
  /** The version of the protocol that the subjects name; default `v1r4`. */
  readonly version?: SubjectVersion;
  /** Which lets a command's card be read while it is handled. */
  readonly cardbox: CardBox;
  /** Handles a command. One that throws before it read the card gets the command again. */
  readonly handler: (message: Delivery) => Promise<unknown>;
  /** How many commands are handled at once; default 16. */
  readonly concurrencyMax?: number;
  /** Takes what goes wrong beside the calls, for a log. */
  readonly onWarning: (warning: string) => void;
}

const CONCURRENCY_DEFAULT = 16;

/** Brings the commands of a target to a handler, until `stop` of what it answers. */
export function subscribeToolCommands(options: ToolCommandsOptions): Promise<Subscription> {
  const { bus, kernel, clock, target, project, version = SUBJECT_VERSION, cardbox, handler, onWarning } = options;
  return listenForWork({
    bus,
    kernel,
    clock,
    role: { tool_target: target, ...(project === undefined ? {} : { project }) },
    subscribe: {
      pattern: `cg.${version}.${project ?? "*"}.*.cmd.tool.${target}.>`,
      durable: durableOfProject(toolDurable(target, version), project),
      inFlightMax: options.concurrencyMax ?? CONCURRENCY_DEFAULT,
    },
    async handler(delivery) {
      if (!cardbox.admit(delivery)) return delivery.ack(); // U2
      try {
        await handler(delivery);
        delivery.ack();
      } catch (error) {
        if (TesseraError.is(error) && LATE_CODES.has(error.code)) return delivery.ack(); // U2
        onWarning(`the handler of ${target} failed: ${String(error)}`);
        delivery.nak(); // ignored when the claim has acked it (U1)
      } finally {
        cardbox.dismiss(delivery);
      }
    },
    onWarning,
  });
}
