// Which stores the durables of a broker serve, for `tessera doctor`: asked by name, because a role may not list them.

import { JetStreamApiError, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { type ConnectionOptions, inboxOf } from "./connection.ts";
import { storeNamedIn } from "./durable-owner.ts";
import { durableName } from "./topology.ts";

const ANSWER_MS_MAX = 3_000;

export interface DurableLook {
  readonly durable: string;
  /** Null: made by an older build, or by an operator. */
  readonly storeId: string | null;
}

/** Those that are there and that this user may look at. Changes nothing. */
export async function lookAtDurables(
  { servers, user, pass, token, inboxPrefix }: ConnectionOptions,
  stream: string,
  durables: readonly string[],
): Promise<DurableLook[]> {
  const inbox = inboxOf({ inboxPrefix, user });
  const nc = await connect({
    servers: typeof servers === "string" ? servers : [...servers],
    ...(user === undefined ? {} : { user }),
    ...(pass === undefined ? {} : { pass }),
    ...(token === undefined ? {} : { token }),
    ...(inbox === undefined ? {} : { inboxPrefix: inbox }),
    reconnect: false,
    timeout: ANSWER_MS_MAX,
  });
  try {
    const jsm = await jetstreamManager(nc, { checkAPI: false, timeout: ANSWER_MS_MAX });
    const looks: DurableLook[] = [];
    for (const durable of durables) {
      const info = await jsm.consumers.info(stream, durableName(durable)).catch((error: unknown) => {
        if (error instanceof JetStreamApiError || nc.isClosed() === false) return null; // not there, or not for this user
        throw error;
      });
      if (info !== null) looks.push({ durable, storeId: storeNamedIn(info.config.description) });
    }
    return looks;
  } finally {
    await nc.close();
  }
}
