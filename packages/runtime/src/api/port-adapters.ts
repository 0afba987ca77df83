// The adapters of the server's ports: what its routes ask for besides the kernel, answered by the agent package and this process.

import { deployProfiles, requestInternalCall, requestToolCall, traceEnqueue } from "@tessera/agent";
import type { UiActions } from "@tessera/agent/ui";
import { errorOf, VERSION } from "@tessera/protocol";
import type { ProfileDocuments, ServerPorts } from "@tessera/server";
import { createHealth } from "../process/health.ts";
import type { Node } from "../process/open-node.ts";
import type { ReadingThreads } from "../reading/reading-threads.ts";
import { verifyStore } from "../store/verify-store.ts";
import { agentsAdapter } from "./agents-adapter.ts";

export interface PortAdaptersOptions {
  readonly node: Node;
  readonly isDraining?: (() => boolean) | undefined;
  readonly isGodEnabled?: boolean | undefined;
  readonly reading: ReadingThreads;
}

export function portAdapters({
  node,
  isDraining,
  isGodEnabled = false,
  reading,
}: PortAdaptersOptions): Required<ServerPorts> {
  const { kernel, ids, store } = node;
  let uiActions: Promise<UiActions> | undefined;
  const actions = () =>
    (uiActions ??= import("@tessera/agent/ui").then(({ createUiActions }) => createUiActions(node)));
  return {
    agents: agentsAdapter(node),
    profiles: profilesAdapter(node, reading),
    toolCalls: {
      request: inTrace((order) => requestToolCall(kernel, ids, order)),
      requestInternal: inTrace((order) => requestInternalCall(kernel, ids, order)),
    },
    uiActions: {
      request: inTrace(async (order) => await (await actions()).request(order)),
      ackOf: async (turn) => await (await actions()).ackOf(turn),
    },
    health: createHealth({ node, isDraining }),
    verify: (options) => verifyStore(store, options),
    isGodEnabled,
    version: VERSION,
  };
}

/** Asks for a turn below a span of its own. */
function inTrace<Order extends Parameters<typeof traceEnqueue>[0], Turn>(
  ask: (order: Order) => Promise<Turn>,
): (order: Order) => Promise<Turn> {
  return (order) => traceEnqueue(order, (trace) => ask({ ...order, ...trace }));
}

function profilesAdapter({ kernel }: Pick<Node, "kernel">, reading: ReadingThreads): ProfileDocuments {
  return {
    async deploy(bytes, { projectId, file, expected, onCost }) {
      const { profile } = await reading.read({ kind: "profile", bytes, options: { file } }, { projectId, onCost });
      if (expected !== undefined && expected.name !== profile.name) {
        const found = `the document is the profile ${JSON.stringify(profile.name)}`;
        throw errorOf("bad_request", `${found}, the address says ${JSON.stringify(expected.name)}`);
      }
      const box = expected?.profile_box_id;
      const fence = box === undefined ? {} : { expectedBoxId: box };
      const { profiles } = await deployProfiles(kernel, projectId, [profile], fence);
      const outcome = profiles[0]?.outcome ?? "unchanged";
      return { name: profile.name, outcome };
    },
  };
}
