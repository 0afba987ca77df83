// Two turns of one instance, in processes that are killed between them and in the middle of each: the second request to the model
// holds the first question and its answer, whichever way the turns were asked for, on both engines. What a process was sent when it
// was killed, the next one is sent again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createClient } from "@tessera/client";
import { migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, type TestDatabase, type TestEngine, waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { runHere } from "../cli/run-here.ts";
import { TESSERA } from "../cli/run-tessera.ts";
import { ANSWER, ASKS_HELPER, LATER, type LoggingModel, startLoggingModel } from "./logging-model.ts";

const TEST_MS = 240_000;
const PROGRAM = join(import.meta.dirname, "remembering-program.ts");
const [REMEMBERS, HELPS] = ["You remember.", "You help."];
const agent = (name: string, prompt: string, more = "") => `---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: ${name} }
spec: { modelConfig: { modelRef: Model/logged }, prompt: { system: "${prompt}" }${more} }
`;
const bundleYaml = (endpoint: string) => `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: logged }
spec: { provider: local, model: logged, endpoint: "${endpoint}" }
${agent("assistant", REMEMBERS)}${agent("helper", HELPS)}${agent(
  "boss",
  ASKS_HELPER,
  ', tools: [{ kind: Tool, name: agents, package: "@tessera/base" }]',
)}${agent("clerk", ASKS_HELPER, ", tools: [Tool/desk]")}---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: desk }
spec:
  entry: ./desk.mjs
  exports: [{ name: request, effect: idempotent, parameters: { type: object } }]
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/assistant, agents: [Agent/assistant, Agent/helper, Agent/boss, Agent/clerk] }
`;
/** The same request, made by a tool of the bundle. */
const DESK_MJS = `export const handlers = {
  async request(ctx, { target, instanceKey, input }) {
    const event = { id: ctx.toolCallId, type: "agent.request", createdAt: new Date(), instanceKey, input,
                    source: { kind: "agent", name: ctx.agentName } };
    return { response: (await ctx.runtime.request(target, event)).response };
  },
};
`;

let directory = "";
let bundle = "";
let model: LoggingModel;
const children = new Set<ChildProcess>();
const databases: TestDatabase[] = [];

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-memory-"));
});
afterEach(async () => {
  await Promise.all([...children].map(kill));
  await model[Symbol.asyncDispose]();
  for (const database of databases.splice(0)) await database.close();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

type Store = { readonly data: string } | { readonly postgres: string };
interface Asked {
  /** Resolves when the process has the answer. */
  answered(): Promise<unknown>;
  kill(): Promise<void>;
}
/** `isAgain`: it was asked before, and the process was killed. */
type Ask = (store: Store, input: string, isAgain: boolean) => Promise<Asked>;

const wordsOf = (store: Store) => Object.entries(store).flatMap(([name, value]) => [`--${name}`, value]);

function start(args: readonly string[]): { child: ChildProcess; line: (part: string) => Promise<string> } {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "pipe"] });
  children.add(child);
  const lines: string[] = [];
  let err = "";
  createInterface({ input: child.stdout as never }).on("line", (line) => lines.push(line));
  child.stderr?.on("data", (text) => {
    err += text;
  });
  const line = (part: string) =>
    waitFor(() => lines.find((each) => each.includes(part)), {
      what: `a line with ${part} of ${args.join(" ")}; exit ${child.exitCode}; ${err}`,
      timeoutMs: 60_000,
    });
  return { child, line };
}

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

const byRun: Ask = async (store, input, isAgain) => {
  const task = isAgain ? ["--resume"] : ["--instance", "ann", "--input", input];
  const { child, line } = start([TESSERA, "run", bundle, ...task, ...wordsOf(store), "--lease", "2"]);
  return { answered: () => line("I heard"), kill: () => kill(child) };
};

const byProgram: Ask = async (store, input) => {
  const { child, line } = start([PROGRAM, JSON.stringify({ store, bundle, input })]);
  return { answered: () => line("I heard"), kill: () => kill(child) };
};

const byHttp =
  (name: string): Ask =>
  async (store, input) => {
    const { child, line } = start([
      TESSERA,
      "start",
      bundle,
      ...wordsOf(store),
      "--port",
      "0",
      "--lease",
      "2",
      "--json",
    ]);
    const { url, key } = JSON.parse(await line('"started"'));
    const client = createClient({ url, apiKey: key });
    const body = { agent: name, instanceKey: "ann", input };
    const { agentTurnId: turn } = await client.enqueueTurn({ project: "default", idempotencyKey: input, body });
    const isDone = async () => (await client.getTurn({ project: "default", turn })).endedAt;
    const answered = () => waitFor(isDone, { what: `${turn} to end`, timeoutMs: 60_000 });
    return { answered, kill: () => kill(child) };
  };

async function storeOf(engine: TestEngine, name: string): Promise<Store> {
  if (engine === "pglite") return { data: join(directory, name) };
  const prepare = async (database: Parameters<typeof migrate>[0]) => void (await migrate(database));
  const database = await createTestDatabases({ engine, prepare, digest: `kernel-${SCHEMA_DIGEST}` }).open();
  databases.push(database);
  return { postgres: database.url ?? "" };
}

const WAYS: readonly [string, Ask, string][] = [
  ["tessera run", byRun, REMEMBERS],
  ["the HTTP API", byHttp("assistant"), REMEMBERS],
  ["createTessera", byProgram, REMEMBERS],
  ["agents__request of another agent", byHttp("boss"), HELPS],
  ["ctx.runtime of another agent's tool", byHttp("clerk"), HELPS],
];

it.each(
  (["pglite", "postgres"] as const).flatMap((engine) =>
    WAYS.map(([name, ask, system]) => ({ engine, name, ask, system })),
  ),
)(
  "on $engine, an instance that is asked by $name remembers its first turn, killed between the turns and in each",
  async ({ engine, ask, system, name }) => {
    model = await startLoggingModel();
    const folder = `${engine}-${name.replace(/\W/g, "-")}`;
    bundle = join(directory, `bundle-${folder}`);
    mkdirSync(bundle);
    writeFileSync(join(bundle, "tessera.yaml"), bundleYaml(model.endpoint));
    writeFileSync(join(bundle, "desk.mjs"), DESK_MJS);
    const store = await storeOf(engine, folder);

    for (const input of ["I am Ann.", "Who am I?"]) {
      model.hold({ system, asked: input });
      const killed = await ask(store, input, false);
      await model.came(system, input, 1);
      await killed.kill();
      model.hold(null);
      const next = await ask(store, input, true);
      await next.answered();
      await next.kill();
    }

    const first = [
      { role: "system", content: system },
      { role: "user", content: "I am Ann." },
    ];
    const remembered = [
      ...first,
      { role: "assistant", content: 'I heard "I am Ann.".' },
      { role: "user", content: "Who am I?" },
    ];
    for (const request of [first, remembered]) {
      const sent = model.sent(system, String(request.at(-1)?.content));
      expect(sent.length).toBeGreaterThanOrEqual(2); // more where a lease ran out on a busy machine
      for (const each of sent) expect(each).toEqual(request);
    }
    const verified = await runHere(["verify", ...wordsOf(store)]);
    expect(verified, verified.out).toMatchObject({ exitCode: 0 });
  },
  TEST_MS,
);

it.each(["pglite", "postgres"] as const)(
  "on %s, an answer that was not waited for comes once, killed while it is thought of and while it is read",
  async (engine) => {
    model = await startLoggingModel();
    const folder = `${engine}-answer`;
    bundle = join(directory, `bundle-${folder}`);
    mkdirSync(bundle);
    writeFileSync(join(bundle, "tessera.yaml"), bundleYaml(model.endpoint));
    writeFileSync(join(bundle, "desk.mjs"), DESK_MJS);
    const store = await storeOf(engine, folder);
    const question = `${LATER}who is it?`;
    const answer = `${ANSWER}helper] I heard ${JSON.stringify(question)}.`;

    model.hold({ system: HELPS, asked: question });
    const asking = await byHttp("boss")(store, question, false);
    await asking.answered();
    await model.came(HELPS, question, 1);
    await asking.kill();
    model.hold({ system: ASKS_HELPER, asked: answer });
    const thinking = await byHttp("boss")(store, question, true);
    await model.came(ASKS_HELPER, answer, 1);
    await thinking.kill();
    model.hold(null);
    const last = await byHttp("boss")(store, "And now?", false);
    await last.answered();
    await last.kill();

    const [before, ...others] = model.sent(ASKS_HELPER, answer);
    expect(others.length).toBeGreaterThanOrEqual(1);
    for (const each of others) expect(each).toEqual(before);
    expect(before?.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool", "assistant", "user"]);
    const remembered = model.sent(ASKS_HELPER, "And now?").at(-1) ?? [];
    expect(remembered.filter(({ content }) => content.startsWith(ANSWER))).toEqual([{ role: "user", content: answer }]);
    const verified = await runHere(["verify", ...wordsOf(store)]);
    expect(verified, verified.out).toMatchObject({ exitCode: 0 });
  },
  TEST_MS,
);
