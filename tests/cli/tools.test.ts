// `tessera tools` as a new user types it, mistakes included; real processes where a pipe or a signal is what is tried.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { STACK_TRACE, TESSERA } from "./run-tessera.ts";
import { writeBundle } from "./tools-bundle.fixture.ts";

const SLOW_MS = 60_000;
let directory = "";
let bundle = "";
let data = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-tools-"));
  bundle = join(directory, "bundle");
  data = join(directory, "store");
  mkdirSync(bundle);
  writeBundle(bundle);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("a call", () => {
  it(
    "whose result holds control characters, or turns the direction of text, shows them, on a terminal and in a pipe",
    async () => {
      const text = "\u009b31mX\u007f\u202e\u200b";
      const call = ["tools", "call", "text-transform__trim", "--arguments", JSON.stringify({ text })];
      for (const [args, columns] of [
        [call, 80],
        [[...call, "--json"], undefined],
      ] as const) {
        const ran = await runHere(args, columns === undefined ? {} : { columns });
        expect(ran, ran.err).toMatchObject({ exitCode: 0 });
        expect(ran.out).toContain("\\u009b31mX\\u007f\\u202e\\u200b");
        expect(ran.out + ran.err).toMatch(/^[\n\x20-\x7e]*$/);
        expect(JSON.stringify(JSON.parse(ran.out))).toContain(text);
      }
    },
    SLOW_MS,
  );

  it(
    "prints the result alone on stdout, and what the tool logs on stderr; arguments come from stdin or a file",
    async () => {
      const child = spawn(
        process.execPath,
        [TESSERA, "tools", "call", "demo__echo", "--bundle", bundle, "--arguments", "-"],
        { stdio: "pipe" },
      );
      child.stdin.end('{"text":"by stdin"}');
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      expect(JSON.parse(out)).toEqual({ text: "by stdin" });
      expect(err).toBe("info  echoing\n");

      const file = join(directory, "arguments.json");
      writeFileSync(file, '{"text":"by file"}');
      const json = await runHere([
        "tools",
        "call",
        "demo__echo",
        "--bundle",
        bundle,
        "--arguments",
        `@${file}`,
        "--json",
      ]);
      expect(json).toMatchObject({ exitCode: 0, err: "" });
      expect(JSON.parse(json.out)).toMatchObject({ ok: true, tool: "demo__echo", result: { text: "by file" } });
    },
    SLOW_MS,
  );

  it(
    "that fails exits 5 and passes on what the tool suggests, without its control characters",
    async () => {
      const { exitCode, out, err } = await runHere(["tools", "call", "demo__fail", "--bundle", bundle]);
      expect({ exitCode, out }).toEqual({ exitCode: 5, out: "" });
      expect(err).toBe(
        "tessera: demo__fail failed: the printer is on fire \\u001b[31m\n  code        E_FIRE (internal_error)\n" +
          "  what to do  Use the extinguisher.\n  see         https://example.com/fire\n",
      );
    },
    SLOW_MS,
  );

  it(
    "ended by Ctrl-C is kept in its store and exits 6; asked for again, a tool that may have acted exits 7",
    async () => {
      const args = ["tools", "call", "demo__hang", "--bundle", bundle, "--data", data];
      const child = spawn(process.execPath, [TESSERA, ...args], { stdio: ["ignore", "pipe", "pipe"] });
      const exit = new Promise((resolve) => child.once("exit", resolve));
      let err = "";
      child.stderr.on("data", (chunk) => {
        const isFirst = !err.includes("hanging");
        err += chunk;
        if (isFirst && err.includes("hanging")) child.kill("SIGINT"); // the tool runs
      });
      expect(await exit).toBe(6);
      expect(err).toContain(
        `stopped waiting for demo__hang: its worker runs demo__hang; the call is kept in ${data}\n`,
      );
      const [, turn = ""] = /tools call --turn (\S+) --data/.exec(err) ?? [];

      const again = await runHere(["tools", "call", "--turn", turn, "--data", data, "--bundle", bundle, "--json"]);
      expect(again).toMatchObject({ exitCode: 7, err: "" });
      expect(JSON.parse(again.out)).toMatchObject({
        ok: false,
        tool: "demo__hang",
        agent_turn_id: turn,
        error: { code: "outcome_unknown" },
      });

      // The calls put the bundle into the project, and none of the built-in tools.
      const { tools } = JSON.parse((await runHere(["tools", "ls", "--data", data, "--json"])).out);
      const names = tools.map((tool: { tool_name: string }) => tool.tool_name);
      expect(names).toEqual(["demo__echo", "demo__fail", "demo__hang"]);
    },
    SLOW_MS,
  );

  it(
    "that takes longer than the wait exits 6 and says that a throw-away store keeps nothing",
    async () => {
      const args = ["tools", "call", "wait__seconds", "--arguments", '{"seconds":100}', "--wait", "0.1"];
      const { exitCode, out, err } = await runHere(args);
      expect({ exitCode, out }).toEqual({ exitCode: 6, out: "" });
      expect(err).toMatch(
        /^tessera: wait__seconds has not ended within 0\.1 s: .*; its store was in memory, so the call is gone\n/,
      );
    },
    SLOW_MS,
  );
});

it(
  "the registry of a project: register, register again, remove; a tool that is not there is an error with those that are",
  async () => {
    const file = join(bundle, "tessera.yaml");
    const store = ["--data", join(directory, "registry")];
    expect((await runHere(["migrate", ...store])).exitCode).toBe(0);
    const registered = await runHere(["tools", "register", file, ...store]);
    expect(registered.exitCode).toBe(0);
    expect(registered.err).toMatch(/^tessera: warning: .*tessera\.yaml:\d+:\d+: \/spec\/entry has no meaning here/);
    expect(registered.out).toMatch(/^tool +version {2}outcome\ndemo__echo +1 {2}added\n/);
    const again = await runHere(["tools", "register", file, ...store]);
    expect(again.out).toMatch(/\ndemo__echo +1 {2}unchanged\n/);

    const removed = await runHere(["tools", "rm", "demo__fail", ...store]);
    expect(removed).toEqual({ exitCode: 0, out: "removed demo__fail\n", err: "" });
    const shown = await runHere(["tools", "show", "demo__fail", ...store]);
    expect(shown).toMatchObject({ exitCode: 1, out: "" });
    expect(shown.err).toContain('project default has no tool "demo__fail"');
    expect(shown.err).toContain("Use one of demo__hang, demo__echo.");
  },
  SLOW_MS,
);

describe("mistakes", () => {
  it(
    "of a bundle are all reported with their places, and exit 3",
    async () => {
      const bad = join(directory, "bad");
      mkdirSync(bad);
      const tool = (name: string) =>
        `apiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: ${name}\nspec:\n  entry: ./x.ts\n  exports: []\n`;
      writeFileSync(join(bad, "tessera.yaml"), `${tool("Bad_Name")}---\n${tool("good")}`);
      const { exitCode, out, err } = await runHere(["tools", "call", "good__x", "--bundle", bad, "--json"]);
      expect({ exitCode, err }).toEqual({ exitCode: 3, err: "" });
      const { error } = JSON.parse(out);
      expect(error.message).toBe("3 mistakes were found");
      expect(error.mistakes.map((mistake: string) => mistake.split(": ")[0])).toEqual([
        "tessera.yaml:4:9",
        "tessera.yaml:7:12",
        "tessera.yaml:15:12",
      ]);
    },
    SLOW_MS,
  );

  it.each([
    [["call", "text-transform__trm"], 1, "Use one of text-transform__trim, "],
    [["call", "x", "--bundle", "nowhere"], 3, "there is no bundle at "],
    [["ls", "--data", "nowhere"], 3, "there is no store in it"],
  ])(
    "tools %j exits %i: %s",
    async (args, exitCode, message) => {
      const ran = await runHere(["tools", ...args, "--json"]);
      expect(ran).toMatchObject({ exitCode, err: "" });
      const { ok, error } = JSON.parse(ran.out);
      expect(ok).toBe(false);
      expect(`${error.message} ${error.todo}`).toContain(message);
      expect(ran.out).not.toMatch(STACK_TRACE);
      expect(existsSync("nowhere")).toBe(false);
    },
    SLOW_MS,
  );
});
