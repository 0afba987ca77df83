// `tessera run` as a new user types it: the example, interruptions of every kind, and each way a turn may end. Real
// processes.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { ROOT, runTessera, STACK_TRACE, TESSERA } from "./run-tessera.ts";

const SLOW_MS = 120_000;
const SWARM = join(ROOT, "examples/swarm");
let directory = "";
let bundle = "";
let ledger = "";

/** The planner does what its input says; the tool waits for a file, so that a test decides when it is done. */
const yaml = () => `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
      - { when: { step: 0, text: "^job" }, reply: { toolCalls: [{ name: jobs__slow, arguments: { name: "{{input}}" } }] } }
      - { when: { tool: jobs__slow }, reply: { text: "did {{result.name}}" } }
      - { when: { step: 0, text: "^crash" }, reply: { toolCalls: [{ name: jobs__crash, arguments: {} }] } }
      - { when: { step: 0, text: "^refuse" }, reply: { toolCalls: [{ name: jobs__refuse, arguments: {} }] } }
      - { when: { tool: jobs__refuse }, reply: { text: "refused with \${{{input}}}" } }
      - { when: { step: 0, text: "^fields" }, reply: { toolCalls: [{ name: submit_result, arguments: { fields: [{ name: n, value: 1 }] } }] } }
      - { when: { step: 0, text: "^broken" }, reply: { error: "the model is on fire" } }
      - { when: { text: "^hello" }, reply: { text: "hello \\u001b[31m{{input}}" } }
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: jobs }
spec:
  entry: ./jobs.ts
  exports:
    - { name: slow, description: Slow., effect: read, timeoutMs: 60000, parameters: { type: object, properties: { name: { type: string } } } }
    - { name: crash, description: Crashes., effect: once, afterExecution: terminate, parameters: { type: object, properties: {} } }
    - { name: refuse, description: Refuses., effect: read, parameters: { type: object, properties: {} } }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: planner }
spec:
  modelConfig: { modelRef: Model/script }
  prompt: { system: "You do what you are told." }
  tools: [{ ref: Tool/jobs }]
  allowedInternalTools: [submit_result]
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec:
  entryAgent: Agent/planner
  agents: [{ ref: Agent/planner }]
`;

const code = () => `import { appendFileSync, existsSync } from "node:fs";
const ledger = ${JSON.stringify(ledger)};
export const handlers = {
  async slow(ctx, { name }) {
    appendFileSync(ledger, "began " + name + "\\n");
    while (!existsSync(ledger + "." + name)) await new Promise((resolve) => setTimeout(resolve, 20));
    appendFileSync(ledger, "ended " + name + "\\n");
    return { name };
  },
  crash: () => process.kill(process.pid, "SIGKILL"),
  refuse: () => { throw Object.assign(new Error("no"), { code: "E_NO" }); },
};
`;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-run-"));
  bundle = join(directory, "bundle");
  ledger = join(directory, "ledger");
  mkdirSync(bundle);
  writeFileSync(ledger, "");
  writeFileSync(join(bundle, "tessera.yaml"), yaml());
  writeFileSync(join(bundle, "jobs.ts"), code());
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The slow job may end now. */
const release = (name: string) => writeFileSync(`${ledger}.${name}`, "");
const began = (name: string, times = 1) =>
  waitFor(() => readFileSync(ledger, "utf8").split(`began ${name}\n`).length - 1 >= times, {
    what: `the job ${name} to begin`,
    timeoutMs: 60_000,
  });
const begin = (...args: string[]): ChildProcess =>
  spawn(process.execPath, [TESSERA, "run", bundle, ...args], { stdio: ["ignore", "pipe", "pipe"] });
const run = (...args: string[]) => runHere(["run", bundle, ...args]);
const eventsOf = (out: string) =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("the example", () => {
  it(
    "prints what the planner delivers and nothing else on stdout, and aligned progress without colours on stderr",
    async () => {
      const { exitCode, out, err } = await runTessera(["run", SWARM, "--input", "tea"]);
      expect(exitCode, err).toBe(0);
      expect(out).toBe("Report on tea\n- What I found on the history of tea.\n- What I found on the future of tea.\n");
      expect(err).not.toContain("\u001b");
      expect(err).toMatch(/^ +\d+\.\d\d s {2}planner {7}turn {2}started$/m);
      expect(err).toMatch(/^ +\d+\.\d\d s {2}planner {7}call {2}shelf__find {13}success {4} +\d+\.\d\d s$/m);
      expect(err).toMatch(/^ +\d+\.\d\d s {2}researcher#1 {2}turn {2}success$/m);
      const order = ["step  1", "words__count            called", "fork_join               called", "step  3"];
      const places = order.map((part) => err.indexOf(part));
      expect(places.toSorted((a, b) => a - b)).toEqual(places);
      expect(places[0]).toBeGreaterThan(-1);
      // The turns that were waited for end first, and a turn ends after everything in it.
      const ends = ["researcher#2  turn  success", "fork_join               success", "planner       turn  success"];
      const endPlaces = ends.map((part) => err.indexOf(part));
      expect(endPlaces.toSorted((a, b) => a - b)).toEqual(endPlaces);
      expect(endPlaces[0]).toBeGreaterThan(-1);
    },
    SLOW_MS,
  );

  it(
    "with --json prints an event per line and the answer last, and nothing on stderr",
    async () => {
      const { exitCode, out, err } = await runHere(["run", SWARM, "--input", "tea", "--json"]);
      expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
      const lines = eventsOf(out);
      const answer = lines.at(-1);
      expect(answer).toMatchObject({ ok: true, agent: "planner", status: "success" });
      expect(answer.deliverable).toMatch(/^Report on tea\n/);
      const calls = lines.filter((line) => line.event === "call" && line.status === "success");
      expect(calls.map((call) => call.tool)).toEqual(["words__count", "shelf__find", "fork_join"]);
      expect(calls.every((call) => call.elapsed_ms >= 0)).toBe(true);
      expect(lines.filter((line) => line.event === "turn" && line.status === "success")).toHaveLength(3);
    },
    SLOW_MS,
  );
});

describe("a run that is interrupted", () => {
  it(
    "by kill -9 in the middle of a tool goes on when it is started again with the same store, and the store is whole",
    async () => {
      const data = join(directory, "killed");
      const child = begin("--input", "job-killed", "--data", data);
      const exit = once(child, "exit");
      await began("job-killed");
      child.kill("SIGKILL");
      expect(await exit).toEqual([null, "SIGKILL"]);

      const again = run("--resume", "--data", data, "--json");
      await began("job-killed", 2);
      release("job-killed");
      const { exitCode, out } = await again;
      expect(exitCode, out).toBe(0);
      expect(eventsOf(out).at(-1)).toMatchObject({ ok: true, status: "success", deliverable: "did job-killed" });
      expect(eventsOf(out).at(-1).turns).toHaveLength(1);

      const verified = await runHere(["verify", "--data", data, "--drained"]);
      expect(verified.exitCode, verified.out).toBe(0);
      const nothing = await run("--resume", "--data", data);
      expect(nothing).toMatchObject({ exitCode: 0, out: "" });
      expect(nothing.err).toContain("nothing was left open");
    },
    SLOW_MS,
  );

  it(
    "by Ctrl-C exits 6 and says how to go on; the next run finishes it first and then does its own",
    async () => {
      const data = join(directory, "stopped");
      const child = begin("--input", "job-stopped", "--data", data);
      const exit = once(child, "exit");
      const said = Promise.all([text(child.stdout as never), text(child.stderr as never)]);
      let shown = "";
      child.stderr?.on("data", (part) => (shown += part));
      await began("job-stopped");
      // Meanwhile the directory is reached through the run.
      const [turn = ""] = /turn_\w+/.exec((await runHere(["turns", "ls", "--data", data])).out) ?? [];
      const why = await runHere(["turns", "why", turn, "--data", data]);
      expect(why.out, why.err).toContain("The turn of planner has not ended: its worker runs jobs__slow");
      const waits = / wait {2}jobs__slow {14}running, until \d\d:\d\d:\d\d UTC\n/;
      await waitFor(() => waits.test(shown), { what: "a line about what it waits for" });
      child.kill("SIGINT");
      expect(await exit).toEqual([6, null]);
      const [out, err] = await said;
      expect(out).toBe("");
      expect(err).toContain(`making a store in ${data} …\n`);
      expect(err).toContain(`tessera run ${bundle} --resume --data ${data}`);
      // Now no process has it, and that is printed, instead of waited for.
      const tail = await runHere(["turns", "tail", turn, "--data", data]);
      expect(tail, tail.err).toMatchObject({ exitCode: 6, out: "" });
      expect(tail.err).toContain(
        `no worker runs the turn\n  what to do  Let it go on: tessera run BUNDLE --resume --data ${data}`,
      );

      const late = await runHere(["run", bundle, "--input", "hello", "--data", data, "--wait", "0"]);
      expect(late, late.err).toMatchObject({ exitCode: 6, out: "" });
      expect(late.err).not.toContain("making a store");
      expect(late.err).toContain("the new task was not asked for: a turn that an earlier run left open did not end");
      expect(late.err).toContain(`then repeat the new task: tessera turns stop ${turn} --data ${data}\n`);

      const before = readFileSync(ledger, "utf8").split("began job-stopped\n").length - 1;
      const next = run("--input", "hello", "--data", data);
      await began("job-stopped", before + 1);
      release("job-stopped");
      const done = await next;
      expect(done.exitCode, done.err).toBe(0);
      expect(done.out).toBe("hello \\u001b[31mhello\n");
      expect(done.err).toContain("finishing a turn that an earlier run left open");
      expect(done.err).toMatch(/^ earlier {2}planner {7}turn {2}started$/m);
      const turns = done.err.split("\n").filter((line) => / turn {2}success$/.test(line));
      expect(turns).toHaveLength(2);
    },
    SLOW_MS,
  );

  it(
    "by the end of its --wait exits 6; without a store it says that the turn is gone",
    async () => {
      const { exitCode, out, err } = await run("--input", "job-waited", "--wait", "1");
      expect({ exitCode, out }).toEqual({ exitCode: 6, out: "" });
      expect(err).toContain("the turn did not end within 1 s; the store was in memory, so it is gone");

      const json = await run("--input", "job-waited", "--wait", "0", "--json");
      expect(json).toMatchObject({ exitCode: 6, err: "" });
      expect(eventsOf(json.out).at(-1)).toMatchObject({ ok: false, status: "waiting", is_kept: false });
    },
    SLOW_MS,
  );
});

it(
  "a call that `tools call` made and that is still open does not hold up a new task",
  async () => {
    const store = ["--data", join(directory, "called")];
    const far = join(directory, "far.yaml");
    const subject = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.far.away";
    const tool = `tool_name: far__away\ndescription: Far.\ntarget_subject: ${subject}\nafter_execution: suspend\n`;
    writeFileSync(far, `${tool}parameters: { type: object, properties: {} }\n`);
    expect((await runHere(["migrate", ...store])).exitCode).toBe(0);
    expect((await runHere(["tools", "register", far, ...store])).exitCode).toBe(0);
    const called = await runHere(["tools", "call", "far__away", "--bundle", bundle, "--wait", "0", ...store]);
    expect(called, called.err).toMatchObject({ exitCode: 6 });
    const ran = await runHere(["run", bundle, "--input", "hello", ...store]);
    expect(ran, ran.err).toMatchObject({ exitCode: 0, out: "hello \\u001b[31mhello\n" });
    expect(ran.err).not.toContain("left open");
    const open = await runHere(["turns", "ls", "--status", "active", ...store]);
    expect(open.out, open.err).toMatch(/^call_\w+ +suspended .* turn_\w+$/m);
  },
  SLOW_MS,
);

describe("how a turn ends", () => {
  it(
    "a deliverable that is no text is JSON, and the input may come from stdin",
    async () => {
      const child = spawn(process.execPath, [TESSERA, "run", bundle, "--input", "-"], { stdio: "pipe" });
      child.stdin.end("fields please");
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      expect(JSON.parse(out), err).toEqual({ fields: [{ name: "n", value: 1 }] });
    },
    SLOW_MS,
  );

  it(
    "a failed turn exits 5 with its code; a failed call that the agent can live with does not",
    async () => {
      const failed = await run("--input", "broken");
      expect(failed).toMatchObject({ exitCode: 5, out: "" });
      expect(failed.err).toContain("the turn of planner failed");
      expect(failed.err).toContain("the model is on fire");
      expect(failed.err).toMatch(/^ {2}what to do {2}/m);
      expect(failed.err).not.toMatch(STACK_TRACE);
      const refused = await run("--input", "refuse");
      expect(refused.exitCode, refused.err).toBe(0);
      expect(refused.err).toMatch(/ call {2}jobs__refuse {12}failed /);
    },
    SLOW_MS,
  );

  it(
    "an unknown outcome that ends the turn exits 7",
    async () => {
      const { exitCode, out } = await run("--input", "crash", "--json");
      expect(exitCode, out).toBe(7);
      expect(eventsOf(out).at(-1)).toMatchObject({ ok: false, status: "failed", error: { code: "outcome_unknown" } });
    },
    SLOW_MS,
  );
});

describe("mistakes", () => {
  it.each<[string, string[], number, string]>([
    ["--resume of a store that is not there", ["--resume", "--data", "/nonexistent/store"], 3, "/nonexistent/store"],
    ["an agent that is not defined", ["--input", "x", "--agent", "nobody"], 1, "defined are planner"],
  ])(
    "%s is an error",
    async (_, args, exitCode, said) => {
      const ran = await run(...args);
      expect({ exitCode: ran.exitCode, out: ran.out }, ran.err).toEqual({ exitCode, out: "" });
      expect(ran.err).toContain(said);
      expect(ran.err).not.toMatch(STACK_TRACE);
    },
    SLOW_MS,
  );

  it(
    "a bundle that is not there, one without agents, and one with mistakes exit 3",
    async () => {
      const nowhere = await runHere(["run", join(directory, "nowhere"), "--input", "x"]);
      expect(nowhere, nowhere.err).toMatchObject({ exitCode: 3, out: "" });
      const empty = join(directory, "empty");
      mkdirSync(empty);
      const tool = yaml().split("---\n")[1] ?? "";
      writeFileSync(join(empty, "tessera.yaml"), tool);
      writeFileSync(join(empty, "jobs.ts"), code());
      const agentless = await runHere(["run", empty, "--input", "x"]);
      expect(agentless, agentless.err).toMatchObject({ exitCode: 3, out: "" });
      expect(agentless.err).toContain("the bundle has no agent");
      writeFileSync(join(empty, "tessera.yaml"), yaml().replace("modelRef: Model/script", "modelRef: Model/nobody"));
      const mistaken = await runHere(["run", empty, "--input", "x"]);
      expect(mistaken, mistaken.err).toMatchObject({ exitCode: 3, out: "" });
      expect(mistaken.err).toMatch(/tessera\.yaml:\d+:\d+/);
    },
    SLOW_MS,
  );
});
