// What a host that was killed -9 leaves behind: nothing.

import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TestChild, waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { isAlive, root, useIsolatedBench } from "../../../test/isolated-bench.ts";

useIsolatedBench();

describe("the children of a host that was killed", () => {
  it("are gone too, even one that loops for ever", async () => {
    const place = await mkdtemp(join(root, "orphan-"));
    const hostUrl = new URL("./isolated-host.ts", import.meta.url).href;
    const program = join(place, "host.ts");
    await mkdir(join(place, "work"));
    await writeFile(
      join(place, "loop.mjs"),
      `import { writeFileSync } from "node:fs";
       import { spawn } from "node:child_process";
       export const handlers = { loop: (ctx) => {
         const child = spawn("sleep", ["1000"]);
         writeFileSync(ctx.workdir + "/pids", process.pid + " " + child.pid);
         for (;;) {}
       } };`,
    );
    await writeFile(
      program,
      `import { createIsolatedHost } from ${JSON.stringify(hostUrl)};
       const clock = { databaseTime: () => null, monotonicMs: () => performance.now(), after: (ms, task) => { const t = setTimeout(task, ms); return { cancel: () => clearTimeout(t) }; } };
       const host = createIsolatedHost({ clock, onWarning: () => {} });
       await host.run({ entry: ${JSON.stringify(join(place, "loop.mjs"))}, export_name: "loop", workdir: ${JSON.stringify(join(place, "work"))},
         invocation: { project_id: "p", channel_id: "c", agent_id: "a", agent_turn_id: "t", tool_call_id: "tc", tool_name: "l__loop", arguments: {}, effect: "read", attempt: 1, mode: "run", idempotency_key: "k", trace_id: "t", step_id: "s", message: { card_id: "c", content: "", tool_calls: [] }, definition: null },
         policy: { timeout_ms: 600_000, error_message_limit: 1000, can_reconcile: false },
         signal: new AbortController().signal, hooks: { onLog() {}, onProgress() {}, onMissingVariable() {}, runtime: null } });`,
    );
    const host = await TestChild.start(program);
    const pids = await waitFor(() => readFile(join(place, "work", "pids"), "utf8").catch(() => ""), {
      what: "the tool to run",
    });
    const [child = 0, grandchild = 0] = pids.split(" ").map(Number);
    try {
      expect([isAlive(child), isAlive(grandchild)]).toEqual([true, true]);
      await host.kill();
      await waitFor(() => !isAlive(child) && !isAlive(grandchild), { what: "child and grandchild to be gone" });
    } finally {
      for (const pid of [child, grandchild]) if (isAlive(pid)) process.kill(pid, "SIGKILL"); // also when the test fails
    }
  });
});
