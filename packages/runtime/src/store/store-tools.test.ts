import { expect, it } from "vitest";
import { openNode } from "../process/open-node.ts";
import { storeTools } from "./store-tools.ts";

it("leaves a project as it is that another node made between the look and the writing", async () => {
  const node = await openNode({ onWarning: () => {}, onFatal: () => {} });
  try {
    await node.kernel.putProject({ project_id: "p1", title: "Made by another node" });
    const reads = { ...node.kernel.reads, project: async () => null };
    await storeTools({ kernel: { ...node.kernel, reads } }, "p1", []);
    expect(await node.kernel.reads.project("p1")).toMatchObject({ title: "Made by another node", revision: 1 });
  } finally {
    await node.close();
  }
});
