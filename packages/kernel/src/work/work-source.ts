// Where work comes from: the bus, and a look at the store for what the bus lost.
//
//   L1. Every worker and executor listens through this. A message heard and a message found are handled alike; the
//       database decides who works, so hearing twice is harmless.
//   L2. A look finds only what the sweeper has rung again and no worker took, so it costs nothing while the bus works. While this
//       process knows that its bus rings nothing, a look finds what was never rung again, too: a hop then costs one look, and
//       not the 5 s until the first repeated ring. There are as many looks as ever.
//   L3. stop() resolves when no handler runs and no look is under way.

import { SWEEP_INTERVAL_MS } from "@tessera/protocol";
import {
  type Bus,
  type BusMessage,
  type Clock,
  type Delivery,
  isRinging,
  type SubscribeOptions,
  type Subscription,
} from "../ports.ts";
import { repeatEvery } from "../waiting/repeat-every.ts";

/** Who listens: workers of a target hear wakeups, executors of a target hear commands. */
export type WorkRole =
  /** `project`: of this one only. */
  | { readonly worker_target: string; readonly project?: string | undefined }
  | { readonly tool_target: string; readonly project?: string | undefined };

export interface WorkSourceOptions {
  readonly bus: Bus;
  readonly kernel: {
    overdueMessages(role: WorkRole, options: { readonly alsoUnrung: boolean }): Promise<BusMessage[]>;
  };
  readonly clock: Clock;
  readonly role: WorkRole;
  readonly subscribe: SubscribeOptions;
  readonly handler: (delivery: Delivery) => void | Promise<void>;
  readonly lookEveryMs?: number;
  readonly onWarning: (warning: string) => void;
}

export async function listenForWork(options: WorkSourceOptions): Promise<Subscription> {
  const subscription = await options.bus.subscribe(options.subscribe, options.handler);
  let isStopped = false;
  const looking = repeatEvery({
    clock: options.clock,
    everyMs: options.lookEveryMs ?? SWEEP_INTERVAL_MS,
    task: async () => {
      const alsoUnrung = !isRinging(options.bus.health()); // L2
      for (const message of await options.kernel.overdueMessages(options.role, { alsoUnrung })) {
        if (isStopped) return;
        await options.handler(asDelivery(message));
      }
    },
    onFailure: (error) => options.onWarning(`looking for overdue work failed: ${String(error)}`),
  });
  return {
    async stop() {
      isStopped = true;
      await Promise.all([subscription.stop(), looking.stop()]);
    },
  };
}

/** A message that was found and not heard: there is nothing to acknowledge, and the next look is its redelivery. */
function asDelivery(message: BusMessage): Delivery {
  const nothing = () => undefined;
  return { ...message, deliveries: 1, ack: nothing, nak: nothing, term: nothing };
}
