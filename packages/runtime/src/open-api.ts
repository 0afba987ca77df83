// The HTTP API of a node: the executor edge, the tool registry, turns.

import type { Server } from "@tessera/server";
import { isReservedToolName } from "@tessera/tool";
import { parseToolUpload } from "@tessera/tool/resources";
import { agentPorts } from "./agent-ports.ts";
import { openLocalKey } from "./local-key.ts";
import type { Node } from "./open-node.ts";

export interface ApiOptions {
  readonly node: Node;
  /** Default: loopback only. */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port?: number;
  /** Instead of a generated administrator's key. */
  readonly apiKey?: string | undefined;
  readonly allowedHosts?: readonly string[];
  /** Variables that uploaded tools may name; absent: all that are not always refused. */
  readonly envAllowList?: readonly string[] | undefined;
  readonly onWarning: (warning: string) => void;
}

export interface Api {
  readonly url: string;
  readonly key: { readonly text: string; readonly isNew: boolean };
  readonly server: Server;
  close(): Promise<void>;
}

export const API_PORT = 8099;

export async function openApi(options: ApiOptions): Promise<Api> {
  const { node, host = "127.0.0.1", port = API_PORT, envAllowList, onWarning } = options;
  const key = await openLocalKey({ kernel: node.kernel, place: node.store.place, given: options.apiKey });
  try {
    // Loaded here: most processes serve no HTTP, and its framework takes as long to load as all the rest.
    const { openServer } = await import("@tessera/server");
    const server = await openServer({
      kernel: { ...node.kernel, authenticate: key.authenticate },
      tools: {
        parse: (bytes, source) =>
          parseToolUpload(bytes, { ...source, ...(envAllowList === undefined ? {} : { envAllowList }) }) as never,
        isReservedName: isReservedToolName,
      },
      agents: agentPorts(node),
      bus: node.bus,
      clock: node.clock,
      ids: node.ids,
      listen: { host, port },
      ...(options.allowedHosts === undefined ? {} : { allowedHosts: options.allowedHosts }),
      onWarning,
    });
    return {
      url: server.url,
      key,
      server,
      async close() {
        await server.close();
        await key.close();
      },
    };
  } catch (error) {
    await key.close();
    throw error;
  }
}
