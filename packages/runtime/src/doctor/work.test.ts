// What doctor reads of a store that has work in it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startToolCaller } from "@tessera/agent";
import { createDoctorReads } from "@tessera/kernel";
import { waitFor } from "@tessera/testkit";
import { expect, it } from "vitest";
import { openNode } from "../process/open-node.ts";
import { openToolHost } from "../tools/tool-host.ts";

const YAML = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: words }
spec: { placement: edge, exports: [{ name: count }] }
`;
const DAY_MS = 86_400_000;

it("finds calls that no executor takes, workers that are alive, and keys that end", async () => {
  const bundle = await mkdtemp(join(tmpdir(), "tessera-work-"));
  await writeFile(join(bundle, "tessera.yaml"), YAML);
  const onWarning = () => {};
  const project = "default";
  const node = await openNode({ onWarning, onFatal: () => {} });
  const reads = createDoctorReads(node.store.database);
  const host = await openToolHost({ node, project, bundle, env: {}, executor: "e", onWarning });
  const { runner, isHosted } = host;
  const caller = await startToolCaller({ ...node, project, runner, isHosted, onWarning });
  try {
    expect(await reads.unclaimed(project, 0)).toEqual([]);
    await caller.request({ project_id: project, tool_name: "words__count", arguments: {} });
    const isWaiting = async () => (await reads.unclaimed(project, 0)).length > 0;
    await waitFor(isWaiting, { what: "the call to wait", timeoutMs: 20_000 });
    expect(await reads.unclaimed(project, 0)).toMatchObject([
      { target_subject: expect.stringContaining(".words."), calls: 1 },
    ]);
    expect(await reads.unclaimed(project, 3_600)).toEqual([]);
    expect(await reads.unclaimed("other", 0)).toEqual([]);
    expect(await reads.workers()).toMatchObject([{ alive: 1 }]);
    expect(await reads.waitingTurns(project, 0)).toEqual([]);

    await node.kernel.createApiKey({ role: "admin", expires_in_ms: DAY_MS });
    await node.kernel.createApiKey({ role: "viewer", project_id: project });
    const keys = await reads.keys(project, 14);
    expect(keys.map(({ role, is_ending }) => [role, is_ending]).sort()).toEqual([
      ["admin", true],
      ["viewer", false],
    ]);
    expect(await reads.server()).toMatchObject({ is_superuser: true });
    expect((await reads.rights()).callable).toBeGreaterThan(10);
  } finally {
    await caller.stop({ graceMs: 0 });
    await host.close({ graceMs: 0 });
    await node.close();
    await rm(bundle, { recursive: true, force: true });
  }
});
