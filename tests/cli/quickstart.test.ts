// The quick start as a stranger runs it: it delivers, and whenever it is interrupted, the next start finishes the same run
// with every effect once. Real processes; the moments of the interruptions are seeded.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { openNode, verifyStore } from "@tessera/runtime";
import { seededRandom, waitFor, withSeed } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT, runNode, STACK_TRACE } from "./run-tessera.ts";

const SLOW_MS = 180_000;
const MAIN = join(ROOT, "examples/quickstart/main.ts");
const DELIVERABLE = `A day in Porto
- See: the old bridge, the book shop with the red stairs, the river at dusk
- Eat: grilled fish at the harbour, custard tarts for the train
- Travel: out at 08:09 (coach 4, seat 21), back at 19:39 (coach 2, seat 11)
`;

const children: ChildProcess[] = [];
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-quickstart-"));
});
afterAll(() => {
  for (const child of children) child.kill("SIGKILL"); // a test that failed leaves one behind
  rmSync(directory, { recursive: true, force: true });
});

const run = (data: string, ...flags: string[]) => runNode([MAIN, "--data", data, ...flags]);

function start(data: string, ...flags: string[]): { child: ChildProcess; said: () => string } {
  const child = spawn(process.execPath, [MAIN, "--data", data, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => void chunks.push(String(chunk)));
  return { child, said: () => chunks.join("") };
}

/** One line for each payment; each clerk has a ledger of its own. */
function payments(data: string): string[] {
  const root = join(data, "workspaces/default");
  const ledgers = readdirSync(root).map((agent) => join(root, agent, "ledger.txt"));
  return ledgers.filter((file) => existsSync(file)).flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
}

/** What the store holds; with `drained`, also that it is whole and nothing is under way. */
async function look(data: string, options: { readonly drained: boolean }) {
  const node = await openNode({ data, migrate: "check", sweep: false, onWarning: () => {}, onFatal: () => {} });
  try {
    const turns = await node.kernel.reads.turns("default", { limit: 100 });
    const ids = turns.map((turn) => String(turn.agent_turn_id));
    const calls = (await Promise.all(ids.map((id) => node.kernel.reads.callsOfTurn("default", id)))).flat();
    const named = (isOpen: boolean) =>
      calls.filter((call) => (call.wait_status === "waiting") === isOpen).map((call) => String(call.tool_name));
    const { violations } = await verifyStore(node.store, options);
    return { turns: turns.length, done: named(false), open: named(true), violations };
  } finally {
    await node.close();
  }
}

describe("npm start and npm run demo", () => {
  it("are the quick start, and the second one ends by itself", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(scripts).toMatchObject({
      start: "node examples/quickstart/main.ts",
      demo: "node examples/quickstart/main.ts --exit",
    });
  });

  it(
    "show the swarm, deliver, and serve what happened until Ctrl-C, on another port where one is taken",
    async () => {
      const data = join(directory, "calm");
      const taken = createServer().listen(0, "127.0.0.1");
      await once(taken, "listening");
      const { port } = taken.address() as AddressInfo;
      const { child, said } = start(data, "--port", String(port));
      const exit = once(child, "exit");
      await waitFor(() => said().includes("Ctrl-C stops it"), { what: "the API to be up", timeoutMs: SLOW_MS });
      taken.close();
      expect(said()).toContain(DELIVERABLE);
      for (const agent of ["planner", "guide", "cook", "clerk"]) expect(said()).toContain(agent);
      for (const tool of ["calendar__free_day", "guidebook__look_up", "tickets__buy", "fork_join"]) {
        expect(said()).toContain(tool);
      }
      expect(said()).not.toMatch(STACK_TRACE);
      expect(said()).toContain(`(port ${port} is taken)`);
      const [, url = ""] = /The API is at (\S+)/.exec(said()) ?? [];
      const headers = { authorization: `Bearer ${readFileSync(join(data, "key"), "utf8").trim()}` };
      const answer = await fetch(`${url}/projects/default/turns`, { headers });
      const { turns } = (await answer.json()) as {
        turns: { agent_turn_id: string; parent_agent_turn_id: string | null }[];
      };
      expect(turns).toHaveLength(4);
      const trip = turns.find((turn) => turn.parent_agent_turn_id === null)?.agent_turn_id;
      expect(said()).toContain(`npx tessera turns show ${trip} --data ${data}`);

      const fresh = await run(data, "--fresh", "--exit");
      expect(fresh, fresh.err).toMatchObject({ exitCode: 4, out: "" }); // never a store that is in use
      const second = await run(data);
      expect(second, second.err).toMatchObject({ exitCode: 4, out: "" });
      expect(second.err).toContain(`it is up already, at ${url}, with the store in ${data}`);
      expect(second.err).toContain(`kill ${child.pid}`);
      child.kill("SIGINT");
      expect(await exit).toEqual([0, null]);
      expect(payments(data)).toHaveLength(2);
      const another = start(data, "--exit");
      const anotherExit = once(another.child, "exit");
      await waitFor(() => another.said().includes("turn  started"), { what: "another trip", timeoutMs: SLOW_MS });
      another.child.kill("SIGKILL");
      await anotherExit;
      expect(another.said()).not.toMatch(/left open|--resume/); // there was nothing to finish, so nothing is said of it
      const nothing = await run(data, "--fresh", "--resume", "--exit");
      expect(nothing, nothing.err).toMatchObject({ exitCode: 3, out: "" });
      expect(existsSync(join(data, "workspaces"))).toBe(false);
    },
    SLOW_MS,
  );
});

describe("the command line of the quick start", () => {
  it("has a help, and an answer to what it does not know, without a stack", async () => {
    expect(await runNode([MAIN, "--exit", "--help"])).toMatchObject({
      exitCode: 0,
      out: expect.stringMatching(/^usage: /),
      err: "",
    });
    for (const wrong of [["--frehs"], ["--port", "many"], ["extra"]]) {
      const ran = await runNode([MAIN, ...wrong]);
      expect(ran).toMatchObject({ exitCode: 2, out: "", err: expect.stringContaining("usage: ") });
      expect(ran.err).not.toMatch(STACK_TRACE);
    }
  });

  it("--fresh finds nothing of a removal that was interrupted, and removes what that left", async () => {
    const data = join(directory, "wreck");
    mkdirSync(join(data, "store"), { recursive: true });
    writeFileSync(join(data, "store/half"), "");
    mkdirSync(`${data}.removed-1/store`, { recursive: true });
    mkdirSync(`${data}.removed-mine`);
    const nothing = await run(data, "--fresh", "--resume", "--exit");
    expect(nothing, nothing.err).toMatchObject({ exitCode: 3, out: "" });
    expect(nothing.err).toContain(`making a store in ${data} …`);
    expect(nothing.err).toContain("there is no store in it");
    const left = readdirSync(directory).filter((name) => name.startsWith("wreck"));
    expect(left).toEqual(["wreck.removed-mine"]); // whose name only looks like ours
  });
});

describe.concurrent("interrupted in the middle and started again", () => {
  /** After the first call was answered; no ticket is there before 4.5 s have passed. */
  it.for([
    { signal: "SIGKILL", fromMs: 0, toMs: 2_000, again: ["--exit"] },
    { signal: "SIGKILL", fromMs: 1_500, toMs: 3_000, again: ["--exit", "--resume"] },
    { signal: "SIGINT", fromMs: 500, toMs: 3_000, again: ["--exit"] },
  ] as const)(
    "by $signal between $fromMs and $toMs ms, it finishes the same run, and every ticket is paid once",
    { timeout: SLOW_MS },
    async ({ signal, fromMs, toMs, again }, { expect }) =>
      await withSeed(async (seed) => {
        const data = join(directory, `${signal}-${fromMs}`);
        const { child, said } = start(data, "--exit");
        const exit = once(child, "exit");
        const isPlanned = () => said().includes("Saturday is free");
        await waitFor(isPlanned, { what: "the calendar to have answered", timeoutMs: 60_000 });
        await delay(fromMs + seededRandom(seed + fromMs)() * (toMs - fromMs));
        child.kill(signal);
        expect(await exit).toEqual(signal === "SIGKILL" ? [null, "SIGKILL"] : [6, null]);
        expect(said()).not.toContain("A day in Porto");
        if (signal === "SIGINT") expect(said()).toContain(`Let it go on: npm run demo -- --data ${data}\n`);
        const between = await look(data, { drained: false });
        expect(between.violations).toEqual([]);
        expect(between.done).toContain("calendar__free_day");
        expect(between.open).toContain("fork_join");

        const resumed = await run(data, ...again);
        expect(resumed, resumed.err).toMatchObject({ exitCode: 0, out: DELIVERABLE });
        expect(resumed.err).toContain("left open");
        const [first = ""] = /finishing .* left open|^info .*/m.exec(resumed.err) ?? [];
        expect(first).toMatch(/^finishing/); // what tools say about it comes after
        const after = await look(data, { drained: true });
        expect(after).toMatchObject({ turns: 4, open: [], violations: [] });
        const trains = payments(data).map((line) => line.split(" ")[1]);
        expect(trains.toSorted()).toEqual(["08:09", "19:39"]);
      }),
  );
});
