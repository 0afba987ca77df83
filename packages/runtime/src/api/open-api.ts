// The HTTP API of a node, with everything that its routes ask for.
//
//   A1. On loopback unless an address is given, with an administrator's key of this process (local-key.ts).
//   A2. The process that holds a directory is reached through this API (holder.ts); `openSelfApi` is for a command that
//       talks only to itself and leaves no trace.

import { createHash } from "node:crypto";
import type { Server, ServerOptions } from "@tessera/server";
import { isReservedToolName } from "@tessera/tool";
import type { Node } from "../process/open-node.ts";
import { openReadingThreads } from "../reading/reading-threads.ts";
import { announceHolder } from "../store/holder.ts";
import { API_HOST, API_PORT } from "./api-address.ts";
import { createLocalKey } from "./local-key.ts";
import { portAdapters } from "./port-adapters.ts";

/** Where and how an API is served. */
export interface ApiOptions {
  readonly node: Node;
  /** Default: loopback only. */
  readonly host?: string | undefined;
  /** 0 takes any free port. */
  readonly port?: number | undefined;
  /** Instead of a generated administrator's key. */
  readonly apiKey?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  readonly trustedProxies?: readonly string[] | undefined;
  /** Variables that uploaded tools may name; absent: all that are not always refused. */
  readonly envAllowList?: readonly string[] | undefined;
  /** True once this process was told to stop: readiness says so. */
  readonly isDraining?: () => boolean;
  readonly isGodEnabled?: boolean | undefined;
  /** False: others are not told where to reach this process (A2). */
  readonly isAnnounced?: boolean;
  readonly limits?: ServerOptions["limits"];
  readonly onWarning: (warning: string) => void;
}

/** An API that is served. */
export interface Api {
  readonly url: string;
  readonly key: { readonly text: string; readonly isNew: boolean };
  readonly server: Server;
  close(): Promise<void>;
}

/** Apart: not every process serves HTTP, and its framework takes as long to load as all the rest. Who knows that it will be
 *  needed begins early, while something else is waited for. */
export function loadServer(): Promise<typeof import("@tessera/server")> {
  return import("@tessera/server");
}

/** Serves the HTTP API of a node. */
export async function openApi(options: ApiOptions): Promise<Api> {
  const {
    node,
    host = API_HOST,
    port = API_PORT,
    envAllowList,
    allowedHosts,
    trustedProxies,
    apiKey,
    onWarning,
  } = options;
  const key = createLocalKey({ kernel: node.kernel, given: apiKey });
  const { openServer } = await loadServer();
  const reading = openReadingThreads(node.clock);
  const server = await openServer({
    kernel: { ...node.kernel, authenticate: key.authenticate },
    tools: {
      parse: (bytes, { onCost, ...source }) => {
        const options = { ...source, envAllowList };
        return reading.read({ kind: "tools", bytes, options }, { projectId: source.projectId, onCost }) as never;
      },
      isReservedName: isReservedToolName,
    },
    ports: portAdapters({ ...options, reading }),
    bus: node.bus,
    clock: node.clock,
    ids: node.ids,
    listen: { host, port },
    allowedHosts,
    trustedProxies,
    // Servers behind one name share the given key, and so the cursors of each other.
    cursorKey: key.isNew ? undefined : createHash("sha256").update(`cursor:${key.text}`).digest(),
    limits: options.limits,
    onWarning,
  });
  try {
    const isAnnounced = options.isAnnounced ?? true;
    const forget = isAnnounced ? await announceHolder(node.store, { url: server.url, key: key.text }) : null;
    return {
      url: server.url,
      key,
      server,
      async close() {
        await forget?.();
        await Promise.all([server.close(), reading.close()]); // the server waits for its handlers
      },
    };
  } catch (error) {
    await Promise.all([server.close(), reading.close()]);
    throw error;
  }
}

/** Serves the API to this process alone: on a free port of loopback, with a random key that is nowhere but here. */
export function openSelfApi(
  node: Node,
  options: Pick<ApiOptions, "envAllowList" | "isGodEnabled" | "limits" | "onWarning">,
): Promise<Api> {
  return openApi({ ...options, node, port: 0, isAnnounced: false });
}
