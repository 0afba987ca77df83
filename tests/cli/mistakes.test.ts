// Mistakes that a newcomer makes: each gives one message that says what, where and what to do, and its exit code.

import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VERSION } from "@tessera/protocol";
import { type Api, type Node, openApi, openNode } from "@tessera/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { type Ran, ROOT, runNode, runTessera, STACK_TRACE, TESSERA } from "./run-tessera.ts";

/** Each test runs the whole command, some several times. */
const SLOW_MS = 120_000;
const SWARM = join(ROOT, "examples/swarm");
const MODEL = (spec: string) =>
  `apiVersion: goondan.ai/v1\nkind: Model\nmetadata: { name: m }\nspec: { ${spec} }\n---\n`;
const SCRIPT = MODEL("provider: scripted, options: { rules: [{ reply: { text: hi } }] }");
const AGENT =
  "apiVersion: goondan.ai/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n  modelConfig: { modelRef: Model/m }\n";
const TOOL =
  "---\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata: { name: words }\nspec:\n  entry: ./words.mjs\n  exports: [{ name: count }]\n";

let directory = "";
let node: Node;
let api: Api;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-mistakes-"));
  node = await openNode({ onWarning: () => {}, onFatal: () => {} });
  api = await openApi({ node, port: 0, onWarning: () => {} });
});
afterAll(async () => {
  await api.close();
  await node.close();
  rmSync(directory, { recursive: true, force: true });
});

function bundle(name: string, yaml: string): string {
  const at = join(directory, name);
  mkdirSync(at);
  writeFileSync(join(at, "tessera.yaml"), yaml);
  return at;
}

/** One failure, in the form of every other, and nothing on stdout. */
function expectOneMessage(ran: Ran, exitCode: number, says: readonly string[]): void {
  expect(ran, ran.err).toMatchObject({ exitCode, out: "" });
  for (const text of says) expect(ran.err).toContain(text);
  expect(ran.err.match(/^ {2}what to do {2}\S/gm)).toHaveLength(1);
  expect(ran.err.match(/^tessera: (?!warning: )/gm)).toHaveLength(1);
  expect(ran.err).not.toMatch(STACK_TRACE);
}

describe("a newcomer's mistake:", { timeout: SLOW_MS }, () => {
  it("a wrong file: the message says what to name", async () => {
    const gone = join(directory, "nowhere");
    expectOneMessage(await runHere(["run", gone, "--input", "x"]), 3, [gone, "ENOENT", "Name a directory with"]);
    const file = join(ROOT, "README.md");
    expectOneMessage(await runHere(["run", file, "--input", "x"]), 3, [file, "That is a file"]);
  });

  it("bad YAML: the message has the line", async () => {
    const at = bundle("yaml", "kind: [Agent\nmetadata: {}\n");
    const says = ["tessera.yaml:2:1: ", "E_CONFIG_PARSE_ERROR", "Correct the line that is named."];
    expectOneMessage(await runHere(["run", at, "--input", "x"]), 3, says);
  });

  it("a reference to an unknown tool: the message has its place", async () => {
    const at = bundle("tool", `${SCRIPT}${AGENT}  tools: [{ ref: Tool/none }]\n`);
    const says = ['tessera.yaml:11:18: there is no Tool "none"', "Define the resource, or correct the name."];
    expectOneMessage(await runHere(["run", at, "--input", "x"]), 3, says);
  });

  it("a variable that is not set: validate and the run name it", async () => {
    const at = bundle("env", MODEL("provider: openai, model: m, apiKey: { valueFrom: { env: NO_SUCH_KEY } }") + AGENT);
    const valid = await runHere(["validate", at]);
    expect(valid.out).toMatch(
      /tessera\.yaml:4:37 +warning +env_missing +the environment variable NO_SUCH_KEY is not set/,
    );
    const says = ["set the environment variable NO_SUCH_KEY", "model_failed"];
    expectOneMessage(await runHere(["run", at, "--input", "x"]), 5, says);
  });

  it("a rule that cannot be filled: the message names the model and the rule, and no key", async () => {
    const at = bundle(
      "rule",
      MODEL('provider: scripted, options: { rules: [{ reply: { text: "{{result.text}}" } }] }') + AGENT,
    );
    const ran = await runHere(["run", at, "--input", "x"]);
    const says = [
      "the scripted model m has no value for {{result.text}} in the reply of rules[0]",
      "Correct the field",
    ];
    expectOneMessage(ran, 5, says);
  });

  it("a NATS server that is not there: one warning, and the work is done", async () => {
    const at = bundle("no-nats", SCRIPT + AGENT);
    const ran = await runHere(["run", at, "--input", "tea", "--nats", "nats://me:secret@127.0.0.1:1"]);
    expect(ran, ran.err).toMatchObject({ exitCode: 0, out: "hi\n" });
    expect(ran.err.match(/cannot reach NATS at 127\.0\.0\.1:1; running without it, slower/g)).toHaveLength(1);
    expect(ran.err).not.toContain("secret");
  });

  it("a port that is taken: the message names it, and how to choose another", async () => {
    // It reads, so that it notices when a client goes away.
    const other: Server = createServer((socket) => void socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const says = [`cannot listen on 127.0.0.1:${port}: another process listens there`, "--port"];
    expectOneMessage(await runHere(["dev", SWARM, "--port", String(port)]), 3, says);
    await new Promise((resolve) => other.close(resolve));
  });

  it("a wrong URL: the message says whether it is one, and whether a server answers", async () => {
    const key = { TESSERA_API_KEY: "k" };
    const away = await runHere(["turns", "ls", "--url", "http://127.0.0.1:1"], { env: key });
    expectOneMessage(away, 4, ["cannot reach http://127.0.0.1:1", "Check that the server runs"]);
    const none = await runHere(["turns", "ls", "--url", "localhost:8099"], { env: key });
    expectOneMessage(none, 3, ["did you mean http://localhost:8099?"]);
  });

  it("no database running: the message has its address, and never the password", async () => {
    const url = "postgres://me:secret@127.0.0.1:1/d";
    for (const command of [["run", SWARM, "--input", "x"], ["verify"], ["turns", "ls"]]) {
      const ran = await runHere([...command, "--postgres", url]);
      expectOneMessage(ran, 4, ["PostgreSQL at 127.0.0.1:1/d", "Check that the database runs"]);
      expect(ran.err).not.toContain("secret");
    }
  });

  it("a wrong key, and none: the message says so, and where to put one", async () => {
    const wrong = await runHere(["turns", "ls", "--url", api.url], { env: { TESSERA_API_KEY: "tsk_wrong" } });
    expectOneMessage(wrong, 3, ["Set TESSERA_API_KEY to a key of that server"]);
    expect(wrong.err).not.toContain("tsk_wrong");
    const none = await runHere(["turns", "ls", "--url", api.url], { env: { TESSERA_API_KEY: "" } });
    expectOneMessage(none, 3, ["there is no key for the server"]);
    const right = await runHere(["turns", "ls", "--url", api.url], { env: { TESSERA_API_KEY: api.key.text } });
    expect(right.exitCode, right.err).toBe(0);
  });

  it("a missing handler: the message names it, and those there are", async () => {
    const at = bundle("handler", SCRIPT + AGENT + TOOL);
    writeFileSync(join(at, "words.mjs"), "export const handlers = { other: () => 1 };");
    const says = ["tessera.yaml:16:10: the module ./words.mjs has no handler for count; its handlers are other"];
    expectOneMessage(await runHere(["run", at, "--input", "x"]), 3, says);
  });

  it("an old Node and no other beside it: the message says which is needed", async () => {
    const old =
      "data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.9.0'}})";
    const alone = join(directory, "alone");
    mkdirSync(join(alone, "bin"), { recursive: true });
    writeFileSync(join(alone, "package.json"), `{"type":"module"}`);
    copyFileSync(TESSERA, join(alone, "bin/tessera.js"));
    const command = ["--import", old, join(alone, "bin/tessera.js")];
    const says = ["this is Node 20.9.0", "Node 22.18 or newer is needed", "no Node package for", "npm ci"];
    const ran = await runNode([...command, "run"]);
    expect(ran).toMatchObject({ exitCode: 3, out: "", err: expect.stringMatching(/^tessera: .*\n$/) }); // one line
    for (const each of says) expect(ran.err).toContain(each);
    const json = await runNode([...command, "run", "--json"]);
    expect(json).toMatchObject({ exitCode: 3, err: "" });
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { code: "unsupported_version" } });
  });
});

describe("the cache of compiled sources", { timeout: SLOW_MS }, () => {
  it("is made where it may be, and every command works where it may not", async () => {
    const cache = join(directory, "cache");
    for (const place of [cache, cache, "/proc/nowhere", TESSERA]) {
      const ran = await runTessera(["--version"], { TESSERA_CACHE_DIR: place });
      expect(ran).toEqual({ exitCode: 0, out: `${VERSION}\n`, err: "" });
    }
    expect(readdirSync(join(cache, "compiled"))).not.toEqual([]);
  });
});
