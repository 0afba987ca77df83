// The modules of isolated tools: loaded in a process of their own, anew when they changed, refused when they cannot be used.

import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHost, root, run, useIsolatedBench } from "../../../test/isolated-bench.ts";

useIsolatedBench();

describe("a module that changed", () => {
  it("is loaded anew when it is looked at again", async () => {
    const host = await newHost();
    const entry = join(root, "changing.mjs");
    for (const version of [1, 2]) {
      await writeFile(entry, `export const handlers = { v${version}: () => ${version} };`);
      expect(await host.inspect(entry, root)).toEqual({ handlers: [`v${version}`], reconcilers: [] });
      expect(await run(host, `v${version}`, { entry })).toMatchObject({ result: { value: version } });
    }
  });
});

describe("a module that cannot be used", () => {
  it.each([
    ["throws", "throw new Error('broken at load');", "broken at load"],
    ["has no handlers", "export const other = 1;", 'exports no "handlers"'],
    ["exits", "process.exit(4);", "exit code 4"],
  ])("because it %s is refused, and not loaded here", async (name, text, message) => {
    const host = await newHost();
    const entry = join(root, `unusable-${name.replaceAll(" ", "-")}.mjs`);
    await writeFile(entry, text);
    const content = await run(host, "echo", { entry });
    expect(content.status).toBe("failed");
    expect(content.error?.message).toContain(message);
    await expect(host.inspect(entry, root)).rejects.toThrow(message);
  });

  it("because it never finishes loading is given up", async () => {
    const host = await newHost({ limits: { startMs: 700 } });
    const entry = join(root, "slow.mjs");
    await writeFile(entry, "for (;;) {}");
    const content = await run(host, "echo", { entry });
    expect(content).toMatchObject({ status: "failed", error: { code: "tool_crashed", retryable: true } });
    const looking = await newHost({ limits: { inspectMs: 700 } });
    await expect(looking.inspect(entry, root)).rejects.toThrow("not loaded within 700 ms");
  });

  it("only in the eyes of a host that was too busy to read its answer is none", async () => {
    const inspectMs = 1_000;
    const host = await newHost({ limits: { inspectMs } });
    const entry = join(root, "ready.mjs");
    const told = join(root, "told");
    await writeFile(
      entry,
      `import { writeFileSync } from "node:fs";
       setTimeout(() => writeFileSync(${JSON.stringify(told)}, ""), 50); // after the answer, which follows the loading
       export const handlers = { echo: () => ({}) };`,
    );
    const inspected = host.inspect(entry, root);
    await new Promise((resolve) => setImmediate(resolve)); // its time runs from here
    const began = performance.now();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    while (performance.now() < began + inspectMs + 100) Atomics.wait(cell, 0, 0, 20);
    while (!existsSync(told) && performance.now() < began + 60_000) Atomics.wait(cell, 0, 0, 20);
    expect(existsSync(told)).toBe(true);
    expect(await inspected).toMatchObject({ handlers: ["echo"] });
  });
});
