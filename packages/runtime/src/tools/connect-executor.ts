// What an executor outside of any node needs: the HTTP edge, and the bus where it hears its commands there.

import { systemClock, systemIds } from "@tessera/engines/system";
import { connectEdge, type EdgeClient } from "@tessera/executor";
import type { Bus, BusMessage, Clock, Ids } from "@tessera/kernel";
import { openBus } from "../process/open-bus.ts";

/** What an executor outside of any node works through. */
export interface ExecutorLink {
  /** Claims, cards and reports, over HTTP. */
  readonly edge: EdgeClient;
  /** The memory of this process where no NATS was given: nothing is heard on it. */
  readonly bus: Bus;
  /** The clock of this process. */
  readonly clock: Clock;
  /** Makes ids of traces and spans. */
  readonly ids: Ids;
  /** The store cannot be looked at from here; what the bus lost, the sweeper sends again. */
  readonly kernel: { overdueMessages(): Promise<BusMessage[]> };
  /** Leaves the bus. */
  close(): Promise<void>;
}

/** Connects an executor outside of any node to a store and a bus. */
export async function connectExecutor(options: {
  readonly url: string;
  readonly apiKey: string;
  readonly nats?: string;
  /** Whose commands it hears where stores share a broker, as `tessera start` prints it. */
  readonly storeId?: string | undefined;
  readonly onWarning: (warning: string) => void;
}): Promise<ExecutorLink> {
  const { url, apiKey, nats, storeId, onWarning } = options;
  const bus = await openBus({ kind: "memory", name: "memory" }, { nats, storeId, onWarning });
  return {
    edge: connectEdge({ url, apiKey, clock: systemClock, mintClaimId: () => systemIds.mint("claim") }),
    bus,
    clock: systemClock,
    ids: systemIds,
    kernel: { overdueMessages: async () => [] },
    close: () => bus.close(),
  };
}
