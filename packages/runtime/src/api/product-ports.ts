// What the API asks of the product besides the kernel, answered here: the server knows neither agents nor tools.

import { deployProfiles, requestInternalCall, requestToolCall, traceEnqueue } from "@tessera/agent";
import type { UiActions } from "@tessera/agent/ui";
import { errorOf, VERSION } from "@tessera/protocol";
import type { ProductPorts, ProfileDocuments } from "@tessera/server";
import { createHealth } from "../process/health.ts";
import type { Node } from "../process/open-node.ts";
import type { ReadingThreads } from "../reading/reading-threads.ts";
import { verifyStore } from "../store/verify-store.ts";

export interface ProductPortsOptions {
  readonly node: Node;
  readonly isDraining?: () => boolean;
  readonly isGodEnabled?: boolean | undefined;
  readonly reading: ReadingThreads;
}

export function productPorts({
  node,
  isDraining,
  isGodEnabled = false,
  reading,
}: ProductPortsOptions): Required<ProductPorts> {
  const { kernel, ids, store } = node;
  let uiActions: Promise<UiActions> | undefined;
  const actions = () =>
    (uiActions ??= import("@tessera/agent/ui").then(({ createUiActions }) => createUiActions(node)));
  return {
    profiles: profileDocuments(node, reading),
    toolCalls: {
      request: (order) => traceEnqueue(order, (trace) => requestToolCall(kernel, ids, { ...order, ...trace })),
      requestInternal: (order) =>
        traceEnqueue(order, (trace) => requestInternalCall(kernel, ids, { ...order, ...trace })),
    },
    uiActions: {
      request: (order) => traceEnqueue(order, async (trace) => (await actions()).request({ ...order, ...trace })),
      ackOf: async (turn) => (await actions()).ackOf(turn),
    },
    health: createHealth({ node, ...(isDraining === undefined ? {} : { isDraining }) }),
    verify: (options) => verifyStore(store, options),
    isGodEnabled,
    version: VERSION,
  };
}

function profileDocuments({ kernel }: Pick<Node, "kernel">, reading: ReadingThreads): ProfileDocuments {
  return {
    async deploy(bytes, { projectId, file, expected, onCost }) {
      const options = file === undefined ? {} : { file };
      const { profile } = await reading.read({ kind: "profile", bytes, options }, { projectId, onCost });
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
