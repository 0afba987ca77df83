// The bus of a node. It only carries hints (docs/design.md#messages-are-hints), so the choice is about reach, never about safety:
// NATS where its URL is given, else PostgreSQL's own notifications where that is the store, else this process's memory.

import type { Bus } from "@tessera/kernel";
import { BadRequest } from "@tessera/protocol";
import type { StorePlace } from "../store/store-place.ts";

/** Which bus a node uses. */
export interface BusConfiguration {
  /** One NATS URL, or several of one cluster separated by commas. */
  readonly nats?: string | undefined;
  /** Whose messages these are; without it, an executor that is no part of a store. */
  readonly storeId?: string | undefined;
  /** Whether the age of a broker is told; default no: a command that only asks is not who upgrades it. */
  readonly warnsOfBroker?: boolean | undefined;
  readonly onWarning: (warning: string) => void;
}

// Adapters are loaded when they are chosen: a process pays for no driver that it does not use.
/** Opens the bus that a configuration names. */
export async function openBus(
  place: StorePlace,
  { nats, storeId, warnsOfBroker = false, onWarning }: BusConfiguration,
): Promise<Bus> {
  if (nats !== undefined) {
    const { openNatsBus } = await import("@tessera/engines/nats");
    return await openNatsBus({ ...natsConnection(nats), storeId, warnsOfVersion: warnsOfBroker, onWarning });
  }
  if (place.kind === "postgres") {
    const { openPostgresBus } = await import("@tessera/engines/postgres-bus");
    return await openPostgresBus({ url: place.url, onWarning });
  }
  const { openMemoryBus } = await import("@tessera/engines/memory-bus");
  return await openMemoryBus({ onWarning });
}

interface NatsConnection {
  readonly servers: string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly inboxPrefix?: string;
}

/** `nats://token@host` and `nats://user:password@host`, as the NATS tools read them; `?inbox_prefix=_INBOX` for a user that may
 *  hear nothing but that. Refused URLs are not repeated: they may hold a password. */
export function natsConnection(text: string): NatsConnection {
  const urls = text.split(",").map((part) => part.trim());
  if (!urls.every((url) => /^(nats|tls):\/\//.test(url) && URL.canParse(url))) {
    throw new BadRequest("cannot open the bus: the NATS URL is not one; it should look like nats://host:4222");
  }
  const parsed = urls.map((url) => new URL(url));
  const user = decodeURIComponent(parsed[0]?.username ?? "");
  const pass = decodeURIComponent(parsed[0]?.password ?? "");
  const servers = parsed.map((url) => `${url.protocol}//${url.host}`);
  const inbox = parsed[0]?.searchParams.get("inbox_prefix") ?? "";
  const base = { servers, ...(inbox === "" ? {} : { inboxPrefix: inbox }) };
  if (user === "") return base;
  return pass === "" ? { ...base, token: user } : { ...base, user, pass };
}
