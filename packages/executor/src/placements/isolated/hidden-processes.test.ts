// Isolated children in a process namespace of their own. It needs bubblewrap; where none works, the test says so and fails
// only if TESSERA_TEST_REQUIRE_BWRAP asks for it, like the tests of the shell.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { waitFor } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { newHost, run, useIsolatedBench, workdir } from "../../../test/isolated-bench.ts";
import { probeShell } from "../../shell/probe.ts";

const { kind, reason } = await probeShell({}, systemClock);
useIsolatedBench();

it("is tried where bubblewrap works", () => {
  process.stdout.write(`process namespaces: ${kind}; ${reason}\n`);
  if (process.env.TESSERA_TEST_REQUIRE_BWRAP !== undefined) expect(kind, reason).toBe("confined");
});

describe.runIf(kind === "confined")("an isolated tool whose host hides processes", () => {
  const parentOf = async (hidesProcesses: boolean) => {
    const { result } = await run(await newHost({ hidesProcesses }), "parent");
    return result as { environ: string; processes: number };
  };

  // VITEST is a variable of this process, and none that a child is given.
  it("sees neither the host's environment nor its processes, which it sees otherwise", async () => {
    expect((await parentOf(false)).environ).toContain("VITEST");
    const hidden = await parentOf(true);
    expect(hidden.environ).not.toContain("VITEST");
    expect(hidden.processes).toBeLessThan(8);
  });

  it("answers, fails and is killed like any other", async () => {
    const host = await newHost({ hidesProcesses: true, limits: { memoryBytesMax: 400 * 1024 ** 2 } });
    expect(await run(host, "echo")).toMatchObject({ status: "success" });
    expect(await run(host, "exit1")).toMatchObject({ status: "failed" });
    expect(await run(host, "buffers")).toMatchObject({ status: "failed" });
    expect(await run(host, "spin", { timeoutMs: 500 })).toMatchObject({ status: "timeout" });
  });

  it("leaves nothing behind that it started", async () => {
    const host = await newHost({ hidesProcesses: true, limits: { memoryBytesMax: 400 * 1024 ** 2 } });
    await run(host, "forkAndExit");
    expect(existsSync(join(workdir, "grandchild"))).toBe(true);
    await host.close();
    await waitFor(() => host.children() === 0, { what: "no child to be left" });
  });
});
