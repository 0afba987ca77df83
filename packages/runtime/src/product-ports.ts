// What the API asks of the product besides the kernel, answered here: the server knows neither agents nor tools.

import { deployProfiles, readProfileYaml, requestInternalCall, requestToolCall } from "@tessera/agent";
import { errorOf } from "@tessera/protocol";
import type { ProductPorts, ProfileDocuments } from "@tessera/server";
import { createHealth } from "./health.ts";
import type { Node } from "./open-node.ts";
import { verifyStore } from "./verify-store.ts";
import { VERSION } from "./version.ts";

export interface ProductPortsOptions {
  readonly node: Node;
  readonly isDraining?: () => boolean;
  readonly isGodEnabled?: boolean | undefined;
}

export function productPorts({ node, isDraining, isGodEnabled = false }: ProductPortsOptions): Required<ProductPorts> {
  const { kernel, ids, store } = node;
  return {
    profiles: profileDocuments(node),
    toolCalls: {
      request: (order) => requestToolCall(kernel, ids, order),
      requestInternal: (order) => requestInternalCall(kernel, ids, order),
    },
    health: createHealth({ node, ...(isDraining === undefined ? {} : { isDraining }) }),
    verify: (options) => verifyStore(store, options),
    isGodEnabled,
    version: VERSION,
  };
}

function profileDocuments({ kernel }: Pick<Node, "kernel">): ProfileDocuments {
  return {
    async deploy(bytes, { projectId, file, expected }) {
      const { profile } = readProfileYaml(bytes, file === undefined ? {} : { file });
      if (expected !== undefined && expected.name !== profile.name) {
        const found = `the document is the profile ${JSON.stringify(profile.name)}`;
        throw errorOf("bad_request", `${found}, the address says ${JSON.stringify(expected.name)}`);
      }
      const box = expected?.profile_box_id;
      const options = box === undefined ? {} : { expectedBoxId: box };
      const { profiles } = await deployProfiles(kernel, projectId, [profile], options);
      const outcome = profiles[0]?.outcome ?? "unchanged";
      return { name: profile.name, outcome };
    },
  };
}
