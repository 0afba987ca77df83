// ctx.runtime of a tool that runs behind the HTTP edge: each operation is one request, named by its place in the run.
//
//   U1. Ordinals count from 0 in each run, so that a run that is repeated after a crash names the same operations again and
//       starts nothing twice (the API's T3 checks the capability each time).

import type { OpenedCall } from "@tessera/kernel";
import type { AgentToolRuntime } from "@tessera/tool";
import type { EdgeClient } from "./edge-client.ts";

export function edgeRuntime(edge: EdgeClient, call: OpenedCall): AgentToolRuntime {
  let ordinal = 0;
  const ask = async <T>(operation: string, request: object, waitMs = 0): Promise<T> => {
    const numbered = { ordinal, ...request };
    ordinal += 1; // U1
    return (await edge.runtime(call, operation, JSON.parse(JSON.stringify(numbered)) as object, waitMs)) as T;
  };
  return {
    request: (target, event, options = {}) => ask("request", { target, event, options }, options.timeoutMs ?? WAIT_MS),
    send: (target, event) => ask("send", { target, event }),
    spawn: (target, options = {}) => ask("spawn", { target, options }),
    list: (options = {}) => ask("list", { options }),
    catalog: () => ask("catalog", {}),
  };
}

/** What a request waits where its tool does not say (AGENT_REQUEST_TIMEOUT_MS of the protocol). */
const WAIT_MS = 60_000;
