// A process that is told to stop ends within its bounds, whatever its servers do meanwhile, in every role. Most of that is waiting,
// so the faults happen side by side, each to servers of its own.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "@tessera/runtime";
import {
  type NatsServer,
  type PostgresServer,
  startNats,
  startPostgres,
  startTcpProxy,
  TestChild,
  waitFor,
} from "@tessera/testkit";
import { describe, expect, it } from "vitest";

const TESSERA = join(import.meta.dirname, "../../packages/cli/bin/tessera.js");
const ROLES = ["kernel", "worker", "pmo", "tools", "api"] as const;
const GRACE_SECONDS = 1;
/** STOP_MS_MAX, the grace, and what the machine is busy with. */
const STOPPED_MS_MAX = 75_000;
const TEST_MS = 240_000;
const quiet = { onWarning: () => {}, onFatal: () => {} };

/** Runs when the test is over, the last one first. */
type OnEnd = (close: () => unknown) => void;

interface Servers {
  readonly postgres: PostgresServer;
  readonly nats: NatsServer;
}

/** SIGSTOP to the postmaster alone would leave its backends answering. */
function backends(postmaster: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]) === postmaster;
      } catch {
        return false;
      }
    });
}

/** A postmaster that is stopped starts no further backends, so what is listed after that is all of them. */
async function freeze({ postgres, nats }: Servers, onEnd: OnEnd): Promise<void> {
  await stopped([postgres.pid], onEnd);
  await stopped(backends(postgres.pid), onEnd);
  nats.pause();
}

async function stopped(pids: readonly number[], onEnd: OnEnd): Promise<void> {
  for (const pid of pids) {
    process.kill(pid, "SIGSTOP");
    onEnd(() => process.kill(pid, "SIGCONT"));
  }
  for (const pid of pids) {
    const isStopped = () => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
    await waitFor(async () => isStopped(), { what: `process ${pid} to be stopped` });
  }
}

describe.runIf(process.platform === "linux")("told to stop, each role ends in time", () => {
  it.concurrent.for(["frozen", "cut off", "killed"] as const)(
    "with PostgreSQL and NATS %s",
    { timeout: TEST_MS },
    async (fault, { onTestFinished }) => {
      const onEnd: OnEnd = (close) => onTestFinished(async () => void (await close()));
      const [postgres, nats] = await Promise.all([startPostgres(), startNats()]);
      onEnd(() => Promise.all([postgres.stop("immediate").catch(() => undefined), nats.stop()]));
      await (await openStore({ postgres: postgres.url, migrate: "yes", ...quiet })).close();
      const proxies = [await startTcpProxy({ port: postgres.port }), await startTcpProxy({ port: nats.port })] as const;
      onEnd(() => Promise.all(proxies.map((proxy) => proxy.close())));
      const env = {
        TESSERA_POSTGRES: postgres.url.replace(`:${postgres.port}`, `:${proxies[0].port}`),
        TESSERA_NATS: `nats://127.0.0.1:${proxies[1].port}`,
        TESSERA_GRACE_SECONDS: String(GRACE_SECONDS),
      };
      const children = await Promise.all(
        ROLES.map(async (role) => {
          const args = ["start", "--role", role, "--json", ...(role === "api" ? ["--port", "0"] : [])];
          const child = await TestChild.start(TESSERA, { args, env });
          await child.waitForMessage<{ event: string }>("that it started", ({ event }) => event === "started", 90_000);
          return { role, child };
        }),
      );
      if (fault === "frozen") await freeze({ postgres, nats }, onEnd);
      else if (fault === "cut off") for (const proxy of proxies) proxy.set({ kind: "black-hole" });
      const before = performance.now();
      for (const { child } of children) process.kill(child.pid, "SIGTERM");
      if (fault === "killed") await Promise.all([postgres.killPostmaster(), nats.kill()]);
      const ends = await Promise.all(
        children.map(async ({ role, child }) => {
          const exit = await child.ended(STOPPED_MS_MAX);
          const ms = Math.round(performance.now() - before);
          return { role, exit, ms, named: child.output.some((line) => line.includes("stop_incomplete")) };
        }),
      );
      console.log(ends.map(({ role, exit, ms }) => `${role}: ${exit.code} after ${ms} ms`).join("; "));
      for (const { role, exit, named } of ends) {
        expect({ role, signal: exit.signal }).toEqual({ role, signal: null });
        expect({ role, told: exit.code === 0 || named || exit.code === 4 || exit.code === 1 }).toEqual({
          role,
          told: true,
        });
      }
      if (fault === "cut off") expect(proxies[0].counters.bytesSwallowed).toBeGreaterThan(0);
    },
  );
});
