// Commands that look at a running process and change what it does: through the directory it holds, and through its URL. One
// process serves; the commands run in the test's own.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { openStore } from "@tessera/runtime";
import { freePort, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { TESSERA } from "./run-tessera.ts";

const SLOW_MS = 120_000;
let directory = "";
let data = "";
let server: ChildProcess;
let started: { url: string; key: string };

/** `job-NAME` waits for the file NAME. */
const bundleYaml = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
      - { when: { step: 0, text: "^job" }, reply: { text: "Off I go.", toolCalls: [{ name: jobs__slow, arguments: { name: "{{input}}" } }] } }
      - { when: { tool: jobs__slow }, reply: { text: "did {{result.name}}" } }
      - { when: { text: "^hello" }, reply: { text: "hello" } }
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: jobs }
spec:
  entry: ./jobs.mjs
  exports:
    - { name: slow, description: Slow., effect: read, timeoutMs: 60000, parameters: { type: object, properties: { name: { type: string } } } }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: planner }
spec:
  modelConfig: { modelRef: Model/script }
  prompt: { system: "You do what you are told." }
  tools: [{ ref: Tool/jobs }]
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: aide }
spec:
  modelConfig: { modelRef: Model/script }
  prompt: { system: "You help the planner." }
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/planner, agents: [{ ref: Agent/aide }, { ref: Agent/planner }] }
`;
/** A tool whose executor is not there. */
const farYaml = `tool_name: far__away
description: Is run by another process.
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.far.away
after_execution: suspend
parameters: { type: object, properties: {} }
`;

const code = (ledger: string) => `import { appendFileSync, existsSync } from "node:fs";
export const handlers = {
  async slow(ctx, { name }) {
    appendFileSync(${JSON.stringify(ledger)}, name + "\\n");
    while (!existsSync(${JSON.stringify(ledger)} + "." + name)) await new Promise((resolve) => setTimeout(resolve, 20));
    return { name };
  },
};
`;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "turns-"));
  data = join(directory, "store");
  const bundle = join(directory, "bundle");
  mkdirSync(bundle);
  writeFileSync(ledger(), "");
  writeFileSync(join(bundle, "tessera.yaml"), bundleYaml);
  writeFileSync(join(bundle, "jobs.mjs"), code(ledger()));
  writeFileSync(join(directory, "far.yaml"), farYaml);
  await begin();
}, SLOW_MS);

async function begin(): Promise<void> {
  const args = ["start", join(directory, "bundle"), "--data", data, "--port", "0", "--json"];
  server = spawn(process.execPath, [TESSERA, ...args], { stdio: ["ignore", "pipe", "ignore"] });
  const lines = createInterface({ input: server.stdout as never })[Symbol.asyncIterator]();
  started = JSON.parse((await lines.next()).value ?? "null");
  expect(started).toMatchObject({ event: "started" });
}

afterAll(async () => {
  if (server.exitCode === null) {
    const exit = once(server, "exit");
    server.kill("SIGKILL");
    await exit;
  }
  rmSync(directory, { recursive: true, force: true });
}, SLOW_MS);

const ledger = () => join(directory, "ledger");
const release = (name: string) => writeFileSync(`${ledger()}.${name}`, "");
const began = (name: string) =>
  waitFor(() => readFileSync(ledger(), "utf8").includes(`${name}\n`), { what: `${name} to begin`, timeoutMs: 60_000 });
const held = (...args: string[]) => runHere([...args, "--data", data]);
const remote = (...args: string[]) =>
  runHere([...args, "--url", started.url], { env: { TESSERA_API_KEY: started.key } });

/** Asks for a turn and does not wait; its id. */
async function ask(input: string): Promise<string> {
  const ran = await remote("run", "--agent", "planner", "--instance", input, "--input", input, "--wait", "0", "--json");
  expect(ran, ran.out + ran.err).toMatchObject({ exitCode: 6, err: "" });
  return JSON.parse(ran.out.trimEnd().split("\n").at(-1) ?? "").agent_turn_id;
}

it.each([120, 80, 60])(
  "on a terminal of %i columns no word is broken, and what is shown of an id will do for the next command",
  async (columns) => {
    const turn = await ask(`job-at-${columns}`);
    await began(`job-at-${columns}`);
    const at = (...args: string[]) => runHere([...args, "--data", data], { columns, env: { TERM: "dumb" } });
    const ls = await at("turns", "ls", "--status", "active");
    const [shown = ""] = ls.out.match(new RegExp(`\\S*${turn.slice(-8)}`)) ?? [];
    const show = await at("turns", "show", shown);
    expect(show, show.err).toMatchObject({ exitCode: 0, out: expect.stringContaining(turn) });
    const why = await at("turns", "why", shown);
    const tail = await at("turns", "tail", shown, "--wait", "0");
    const others = [
      await at("agents", "ls"),
      await at("tools", "ls"),
      await at("keys", "ls"),
      await at("turns", "show", "x"),
    ];
    const printed = [ls, show, why, tail, ...others].map(({ out, err }) => out + err).join("");
    const tooLong = printed.split("\n").filter((line) => line.length > columns);
    // What is to be pasted is left to the terminal, which breaks it so that it can be copied whole.
    expect(tooLong.filter((line) => !/^ *(?:what to do .*: )?tessera /.test(line))).toEqual([]);
    release(`job-at-${columns}`);
  },
  SLOW_MS,
);

it(
  "a turn of a running server is asked for, listed, explained, watched to its end and shown, by its directory or its URL",
  async () => {
    const turn = await ask("job-one");
    await began("job-one");
    const listed = await held("turns", "ls", "--agent", "planner", "--status", "active");
    expect(listed, listed.err).toMatchObject({ exitCode: 0, err: "" });
    expect(listed.out).toMatch(
      new RegExp(`^agent +status +created +took +error +asked +turn\nplanner +[^\n]* job-one +${turn}\n`),
    );

    const why = await held("turns", "why", turn.slice(-12));
    expect(why, why.err).toMatchObject({ exitCode: 0, err: "" });
    expect(why.out).toMatch(
      /^The turn of planner has not ended: .*jobs__slow, until .* at the latest\.\n {2}what to do /,
    );
    expect(why.out).toContain(`tessera turns stop ${turn} --data ${data}\n`);
    expect(why.out.trimEnd().split("\n")).toHaveLength(2);

    const waited = await remote("turns", "tail", turn, "--wait", "0");
    expect(waited).toMatchObject({ exitCode: 6, out: "" });
    expect(waited.err).toContain(`the turn goes on\n  what to do  Look again: tessera turns tail ${turn} --url`);

    let isReleased = false;
    const tail = await runHere(["turns", "tail", turn, "--data", data], {
      onPrint(text) {
        if (!isReleased && text.includes("wait  jobs__slow")) release("job-one"); // seen to wait, then let go
        isReleased ||= text.includes("wait  jobs__slow");
      },
    });
    expect(tail, tail.err).toMatchObject({ exitCode: 0, out: "did job-one\n" });
    expect(tail.err).toMatch(
      / planner {7}step {2}1 {2}Off I go\.\n.* call {2}jobs__slow {14}called\n.* wait {2}jobs__slow/,
    );
    expect(tail.err).toMatch(/ call {2}jobs__slow {14}success {3} +[\d.]+ s\n/);

    const json = await remote("turns", "tail", turn, "--json");
    const lines = json.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.at(-1)).toMatchObject({ ok: true, agent: "planner", status: "success", deliverable: "did job-one" });
    expect(lines.filter(({ event }) => event === "call").map(({ status }) => status)).toEqual(["called", "success"]);

    // Of two agents the swarm says which is the entry.
    const again = await held("run", "--input", "hello");
    expect(again, again.err).toMatchObject({ exitCode: 0, out: "hello\n" });
    expect(again.err).toContain("planner       turn  success");
    const nobody = await remote("run", "--agent", "nobody", "--input", "hello");
    expect(nobody).toMatchObject({ exitCode: 1, out: "" });
    expect(nobody.err).toContain("aide, planner");
    const refused = await held("run", join(directory, "bundle"), "--input", "hello");
    expect(refused).toMatchObject({ exitCode: 4, out: "" });
    expect(refused.err).toContain("Leave the bundle out to give the task to that process");

    const shown = await held("turns", "show", turn);
    expect(shown.out).toMatch(/^asked\n {2}job-one\n\nturn {8}/);
    expect(shown.out).toMatch(/^status {6}success$/m);
    expect(shown.out).toMatch(/^ {2}jobs__slow {2}success +1 /m);
    expect(shown.out).toMatch(/^deliverable\n {2}did job-one$/m);
    const { turn: document } = JSON.parse((await remote("turns", "show", turn, "--json")).out);
    expect(shown.out).toContain(`\ncard        ${document.deliverable_card_id}\n`);
    expect(shown.out).toContain(document.calls[0].result_card_id);
    const card = await held("cards", "show", document.deliverable_card_id);
    expect(card.out).toMatch(/^type +task\.deliverable$/m);
    expect(card.out).toMatch(/content\n(did job-one|\{)/);
    const agents = await held("agents", "ls");
    expect(agents.out).toMatch(/^planner +job-one +idle /m);
    expect(agents.err).toBe("  a task can be given to: aide, planner\n");
  },
  SLOW_MS,
);

it(
  "Ctrl-C leaves a watched turn running; a turn that waits for an executor says which, and can be stopped",
  async () => {
    const registered = await held("tools", "register", join(directory, "far.yaml"));
    expect(registered, registered.err).toMatchObject({ exitCode: 0 });
    expect(registered.out).toMatch(/\nfar__away +1 {2}added\n/);
    const asked = await held("tools", "call", "far__away", "--wait", "0", "--json");
    expect(asked, asked.err).toMatchObject({ exitCode: 6, err: "" });
    const turn: string = JSON.parse(asked.out).agent_turn_id;
    await waitFor(async () => (await held("turns", "why", turn)).out.includes("no executor of far"), {
      what: "the call to wait",
      timeoutMs: 60_000,
    });
    const why = JSON.parse((await held("turns", "why", turn, "--json")).out);
    expect(why).toMatchObject({
      ok: true,
      agent_turn_id: turn,
      path: [turn],
      wait: { code: "no_executor", target: "far" },
    });
    expect(why.command).toBe(`tessera keys create --role executor --target far --data ${data}`);

    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const tail = await runHere(["turns", "tail", turn, "--data", data], { stopped, onPrint: () => stop() });
    expect(tail).toMatchObject({ exitCode: 6, out: "" });
    expect(tail.err).toContain("stopped looking; the turn goes on");

    const ended = await remote("turns", "stop", turn, "--reason", "no more");
    expect(ended).toEqual({ exitCode: 0, out: `stopped ${turn}, which was suspended\n`, err: "" });
    const after = await held("turns", "tail", turn);
    expect(after, after.err).toMatchObject({ exitCode: 5, out: "" });
    expect(after.err).toMatch(/^tessera: the turn of .* was canceled: /m);
    const again = await held("turns", "stop", turn);
    expect(again).toMatchObject({ exitCode: 1, out: "" });
  },
  SLOW_MS,
);

it(
  "tools, keys and the store of a held directory are managed through its holder",
  async () => {
    release("job-called");
    const called = await held(
      "tools",
      "call",
      "jobs__slow",
      "--arguments",
      '{"name":"job-called"}',
      "--bundle",
      "elsewhere",
    );
    expect(JSON.parse(called.out || JSON.stringify(called))).toEqual({ name: "job-called" });
    expect(called.err).toContain("--bundle is not used");
    const unknown = await remote("tools", "call", "jobs__slo", "--json");
    expect(JSON.parse(unknown.out).error).toMatchObject({
      code: "not_found",
      todo: expect.stringMatching(/^Use one of jobs__slow/),
    });

    const made = await held("keys", "create", "--role", "viewer", "--label", "for a test");
    const key = made.out.trim();
    expect(key).toMatch(/^tsk_/);
    const file = join(directory, "viewer.key");
    writeFileSync(file, `${key}\n`);
    const asViewer = (...args: string[]) => runHere([...args, "--url", started.url, "--api-key-file", file]);
    expect((await asViewer("turns", "ls")).exitCode).toBe(0);
    const refused = await asViewer("keys", "ls");
    expect(refused).toMatchObject({ exitCode: 3, out: "" });
    expect(refused.err).toContain("Use a key whose role and project allow this");

    const verified = await held("verify");
    expect(verified, verified.out).toMatchObject({ exitCode: 0, err: "" });
    expect(verified.out).toMatch(/^checked \d+ invariants of .*store \(live\): all hold\n$/);
    const migrated = await held("migrate");
    expect(migrated).toMatchObject({ exitCode: 0, err: "" });
    expect(migrated.out).toContain("is held by a running process");
  },
  SLOW_MS,
);

describe("what is wrong with the server is one message", () => {
  it("a turn, a card and a project that are not there", async () => {
    for (const args of [
      ["turns", "show", "turn_nobody"],
      ["turns", "why", "x"],
      ["cards", "show", "card_nobody"],
      ["tools", "ls", "--project", "nobody"],
    ]) {
      const ran = await held(...args);
      expect(ran, args.join(" ")).toMatchObject({ exitCode: 1, out: "" });
      expect(ran.err).toMatch(/^tessera: .*\n {2}code {8}not_found\n {2}what to do {2}\S.*\n$/);
    }
  });

  it(
    "a wrong key, no listener, and a server that is not Tessera",
    async () => {
      const other = createServer((_, response) => response.writeHead(404).end("<html>")).listen(0, "127.0.0.1");
      await once(other, "listening");
      const { port } = other.address() as AddressInfo;
      const cases = [
        [started.url, "tsk_wrong.key", 3, "Set TESSERA_API_KEY to a key of that server"],
        [`http://127.0.0.1:${await freePort()}`, "k", 4, "nothing listens there"],
        [`http://127.0.0.1:${port}`, "k", 3, "is not Tessera's API"],
        [`${started.url}/foo`, started.key, 3, `${started.url}/foo is not the API's address`],
        [started.url.replace("http", "ftp"), "k", 3, "http:// or https://"],
      ] as const;
      for (const [url, TESSERA_API_KEY, exitCode, message] of cases) {
        const ran = await runHere(["turns", "ls", "--json"], { env: { TESSERA_URL: url, TESSERA_API_KEY } });
        expect(ran, url).toMatchObject({ exitCode, err: "" });
        const { ok, error } = JSON.parse(ran.out);
        expect(ok).toBe(false);
        expect(`${error.message} ${error.todo}`).toContain(message);
      }
      other.close();
    },
    SLOW_MS,
  );
});

it(
  "a process that starts again is found again by who watches",
  async () => {
    const turn = await ask("job-restarted");
    await began("job-restarted");
    let heard = () => {};
    const watching = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const tail = runHere(["turns", "tail", turn, "--data", data], { onPrint: () => heard() });
    await watching;
    const exit = once(server, "exit");
    server.kill("SIGKILL");
    await exit;
    await begin();
    release("job-restarted");
    const done = await tail;
    expect(done, done.err).toMatchObject({ exitCode: 0, out: "did job-restarted\n" });
    expect(done.err).toContain("the server answers again\n");
    expect(done.err).toMatch(/^ earlier {2}planner {7}turn {2}started$/m);
  },
  SLOW_MS,
);

it(
  "a process that is still starting is waited for by who asks, for a moment",
  async () => {
    const held = join(directory, "starting");
    const quiet = { onWarning: () => {}, onFatal: () => {} };
    const store = await openStore({ data: held, migrate: "yes", ...quiet });
    const changedMs = () => statSync(join(held, "lock")).mtimeMs;
    const before = changedMs();
    const asked = runHere(["turns", "ls", "--data", held, "--json"]);
    await waitFor(() => changedMs() > before, { what: "the command to try the lock", timeoutMs: 60_000 });
    // Its API is up now; another process stands in for it.
    writeFileSync(join(held, "key"), `${started.key}\n`);
    writeFileSync(join(held, "url"), `${started.url}\n`);
    store.announceApi(started.url);
    const ran = await asked;
    await store.close();
    expect(ran, ran.out).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(ran.out).turns.length).toBeGreaterThan(0);
  },
  SLOW_MS,
);
