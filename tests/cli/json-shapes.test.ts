// What commands print with --json, held to the shapes that docs/reference/cli.md shows. Every test that runs a command holds its
// output, too (hold-json.ts); here each command is run once as it succeeds, and in each way in which it fails.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JSON_SHAPES } from "../../packages/cli/src/output/json-shapes.ts";
import { createProgram } from "../../packages/cli/src/program.ts";
import { commandOf, holdJson } from "./hold-json.ts";
import { runHere } from "./run-here.ts";
import type { Ran } from "./run-tessera.ts";
import { writeBundle } from "./tools-bundle.fixture.ts";

const SLOW_MS = 240_000;
let directory = "";
let data = "";
const shown = new Set<string>();
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-json-"));
  data = join(directory, "store");
  mkdirSync(join(directory, "tools"));
  writeBundle(join(directory, "tools"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The lines of a command that answers in its shape: `runHere` holds them to it. */
// biome-ignore lint/suspicious/noExplicitAny: lines are read field by field
async function json(exitCode: number, ...args: string[]): Promise<any[]> {
  return await jsonWith([], exitCode, ...args);
}

// biome-ignore lint/suspicious/noExplicitAny: the same
async function jsonWith(lines: readonly string[], exitCode: number, ...args: string[]): Promise<any[]> {
  const ran = await runHere([...args, "--json"], { lines });
  expect(ran, args.join(" ") + ran.out + ran.err).toMatchObject({ exitCode, err: "" });
  const command = commandOf(args);
  if (command !== null) shown.add(command);
  return linesOf(ran);
}

const linesOf = ({ out }: Ran) =>
  out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Every command that does something, by its words. */
function commandsOf(command: Command, words: readonly string[] = []): { path: string; command: Command }[] {
  const inner = command.commands.filter((each) => each.name() !== "help");
  if (inner.length === 0) return [{ path: words.join(" "), command }];
  return inner.flatMap((each) => commandsOf(each, [...words, each.name()]));
}

const silent = () => undefined;
const program = await createProgram(
  {
    env: {},
    out: silent,
    err: silent,
    input: async () => "",
    isWatched: false,
    isOutWatched: false,
    stopped: async () => undefined,
  },
  { writeErr: silent, onExit: silent },
);

it("every command that takes --json has a shape, and no other command has one", () => {
  const takers = commandsOf(program).filter(({ command }) => command.options.some(({ long }) => long === "--json"));
  expect(Object.keys(JSON_SHAPES).toSorted()).toEqual(takers.map(({ path }) => path).toSorted());
});

it(
  "every command prints what its shape says when it works, and when what it found is not as it should be",
  async () => {
    const bundle = join(directory, "bundle");
    const store = ["--data", data];
    await json(0, "init", bundle);
    const [isClean] = await json(0, "validate", bundle);
    expect(isClean.findings).toEqual([]);
    const [isNot] = await json(3, "validate", join(directory, "nowhere"));
    expect(isNot.findings).toHaveLength(1);
    await json(0, "migrate", ...store);
    const ran = await json(0, "run", bundle, ...store, "--input", "hello world");
    expect(ran.map(({ event }) => event)).toContain("step");
    const { agent_turn_id: turn } = ran.at(-1);
    expect(await json(0, "run", bundle, ...store, "--resume")).toMatchObject([{ status: "nothing_left_open" }]);
    const [open] = (await json(6, "run", bundle, "--input", "hello world", "--wait", "0")).slice(-1);
    expect(open).toMatchObject({ agent_turn_ids: [open.agent_turn_id], is_kept: false });

    const said = ["/help", "/reset", "/fresh", "one two", "three"];
    const chat = await jsonWith(said, 0, "chat", bundle, ...store);
    expect(chat.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["history", "reset", "fresh", "asked", "answer"]),
    );
    expect(chat.at(-1)).toMatchObject({ ok: true, agent: "assistant", turns: 2, open: [] });
    await json(0, "turns", "ls", ...store);
    const [{ turn: document }] = await json(0, "turns", "show", turn, ...store);
    const tail = await json(0, "turns", "tail", turn, ...store);
    expect(tail.slice(0, -1).every(({ is_earlier }) => is_earlier)).toBe(true);
    await json(0, "turns", "why", turn, ...store);
    await json(0, "agents", "ls", ...store);
    await json(0, "agents", "reset", "assistant", "--reason", "enough", ...store);
    await json(0, "cards", "show", document.deliverable_card_id, ...store);

    const tools = join(directory, "tools");
    const [registered] = await json(0, "tools", "register", join(tools, "tessera.yaml"), ...store);
    expect(registered.ignored[0]).toMatchObject({ pointer: "/spec/entry" });
    await json(0, "tools", "ls", ...store);
    await json(0, "tools", "show", "demo__echo", ...store);
    const call = ["tools", "call", "--bundle", tools, ...store];
    await json(0, ...call, "demo__echo", "--arguments", '{"text":"x"}');
    await json(5, ...call, "demo__fail");
    const [waiting] = await json(6, ...call, "demo__hang", "--wait", "0");
    await json(6, "turns", "tail", waiting.agent_turn_id, ...store);
    await json(0, "turns", "why", waiting.agent_turn_id, ...store);
    await json(0, "turns", "stop", waiting.agent_turn_id, "--reason", "enough", ...store);
    await json(5, "turns", "tail", waiting.agent_turn_id, ...store);
    await json(0, "tools", "rm", "demo__echo", ...store);

    const [{ key_id }] = await json(0, "keys", "create", "--role", "executor", "--target", "demo", ...store);
    await json(0, "keys", "ls", ...store);
    await json(0, "keys", "rm", key_id, ...store);
    await json(0, "verify", ...store);
    await json(0, "doctor", bundle, ...store, "--port", "0");
    const [ill] = await json(3, "doctor", bundle, ...store, "--port", "none");
    expect(ill).toMatchObject({ ok: false });

    for (const command of ["start", "dev"]) {
      let started = () => {};
      const stopped = new Promise<void>((resolve) => {
        started = resolve;
      });
      const args = [command, bundle, "--data", join(directory, command), "--port", "0", "--json"];
      const held: string[][] = [];
      const served = await runHere(args, {
        stopped,
        onPrint: (text) => {
          if (!text.includes('"event":"started"')) return;
          held.push(["migrate", "--data", join(directory, command)]);
          void json(0, ...(held[0] ?? [])).finally(started);
        },
      });
      expect(linesOf(served)).toMatchObject([{ event: "started" }, { event: "stopping" }]);
      shown.add(command);
    }
    expect([...shown].toSorted()).toEqual(Object.keys(JSON_SHAPES).toSorted());
  },
  SLOW_MS,
);

describe("a command that fails prints a Failure and nothing else, with the exit code of the failure:", () => {
  const closedPort = "http://127.0.0.1:1";
  const argumentsOf = ({ command }: { command: Command }) =>
    command.registeredArguments.filter(({ required }) => required).map(() => "some-name");
  const takers = commandsOf(program).filter(({ path }) => Object.hasOwn(JSON_SHAPES, path));
  // What is wrong with a setting, doctor tells as a check.
  const takersOf = (flag: string) =>
    takers.filter(({ path, command }) => path !== "doctor" && command.options.some(({ long }) => long === flag));

  it.each(takers)("$path with a flag that there is not exits 2", async ({ path }) => {
    const ran = await runHere([...path.split(" "), "--no-such-flag", "--json"]);
    expect(ran).toMatchObject({ exitCode: 2, err: "" });
    expect(linesOf(ran)).toMatchObject([{ ok: false, error: { code: "usage", todo: expect.stringContaining(path) } }]);
  });

  it.each(takersOf("--data"))("$path with two stores exits 2 or 3", async (taker) => {
    const { path } = taker;
    const more = path === "keys create" ? ["--role", "viewer"] : path === "run" ? ["--input", "x"] : [];
    const two = ["--data", directory, "--postgres", "postgres://127.0.0.1:1/x"];
    const ran = await runHere([...path.split(" "), ...argumentsOf(taker), ...more, ...two, "--json"]);
    expect(ran.err).toBe("");
    expect([2, 3], ran.out).toContain(ran.exitCode);
    expect(linesOf(ran)).toMatchObject([{ ok: false, error: { code: expect.any(String) } }]);
  });

  it.each(takersOf("--url"))("$path of a server that is not there exits 4", async (taker) => {
    const { path } = taker;
    const more = path === "keys create" ? ["--role", "viewer"] : path === "run" ? ["--input", "x"] : [];
    const file = join(directory, "tool.yaml");
    writeFileSync(
      file,
      "tool_name: far__away\ndescription: Far.\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.far.away\nafter_execution: suspend\nparameters: { type: object, properties: {} }\n",
    );
    const given = path === "tools register" ? [file] : argumentsOf(taker);
    const named = path === "tools call" ? ["some__name"] : given;
    const ran = await runHere([...path.split(" "), ...named, ...more, "--url", closedPort, "--json"], {
      env: { TESSERA_API_KEY: "tsk_a.b" },
    });
    expect(ran, ran.out).toMatchObject({ exitCode: 4, err: "" });
    expect(linesOf(ran)).toMatchObject([{ ok: false, error: { code: "upstream_unavailable" } }]);
  });

  it("no command, and one that there is not, exit 2", async () => {
    for (const args of [["--json"], ["nosuch", "--json"], ["turns", "--json"], ["turns", "nosuch", "--json"]]) {
      const ran = await runHere(args);
      expect(ran, args.join(" ")).toMatchObject({ exitCode: 2, err: "" });
      expect(linesOf(ran)).toMatchObject([{ ok: false, error: { code: "usage" } }]);
    }
  });
});

describe("what holds outputs to shapes refuses", () => {
  it.each([
    ["a field that the shape does not name", { ok: true, removed: "x", more: 1 }, 0],
    ["a field that is missing", { ok: true }, 0],
    ["an ok that is not that of the exit code", { ok: true, removed: "x" }, 1],
    ["a usage error that does not exit 2", { ok: false, error: { code: "usage", message: "m", todo: "t" } }, 3],
  ])("%s", (_, line, exitCode) => {
    const hold = (each: unknown, code: number) => () =>
      holdJson(["tools", "rm", "x", "--json"], { exitCode: code, out: `${JSON.stringify(each)}\n` });
    expect(hold({ ok: true, removed: "x" }, 0)).not.toThrow();
    expect(hold(line, exitCode)).toThrow(/does not say/);
  });
});
