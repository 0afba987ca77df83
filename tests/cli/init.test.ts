// `tessera init`: each template is valid, and runs at once, wherever it was written.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runTessera, TESSERA } from "./run-tessera.ts";

const SLOW_MS = 180_000;
let directory = "";
const running: ChildProcess[] = [];
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-init-"));
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exit = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exit;
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("each template", () => {
  it.each([
    ["minimal", "hello world", 'Words in "hello world": 2.\n'],
    [
      "multi-agent",
      "tea",
      'Report on tea\n- history of tea: "A short history of tea"\n- future of tea: "A short future of tea"\n',
    ],
  ])(
    "%s has no mistakes and delivers",
    async (template, input, deliverable) => {
      const at = join(directory, template);
      const made = await runTessera(["init", at, "--template", template]);
      expect(made).toMatchObject({ exitCode: 0, err: "" });
      expect(made.out).toMatch(new RegExp(`tessera(\\.js)? run ${at} --input`));
      for (const file of ["tessera.yaml", "README.md", ".gitignore"]) expect(existsSync(join(at, file))).toBe(true);
      const valid = await runTessera(["validate", at, "--strict"]);
      expect(valid, valid.out).toMatchObject({ exitCode: 0, out: expect.stringMatching(/: no mistakes\n$/) });
      const ran = await runTessera(["run", at, "--input", input]);
      expect(ran.exitCode, ran.err).toBe(0);
      expect(ran.out).toBe(deliverable);
    },
    SLOW_MS,
  );

  it(
    "service waits for its executor, and delivers once that is there",
    async () => {
      const at = join(directory, "service");
      expect((await runTessera(["init", at, "--template", "service"])).exitCode).toBe(0);
      expect((await runTessera(["validate", at, "--strict"])).exitCode).toBe(0);
      const { url, key } = await startDev(at);
      const asked = await ask(`${url}/projects/default/turns`, key, { agent: "assistant", input: "a stitch in time" });
      start([join(at, "executor.mjs")], { TESSERA_URL: url, TESSERA_API_KEY: key });
      const turn = `${url}/projects/default/turns/${asked.agent_turn_id}`;
      let found: Record<string, unknown> = {};
      const isDone = async () => {
        found = await ask(turn, key);
        return found.status === "success";
      };
      await waitFor(isDone, { what: "the turn to succeed", timeoutMs: SLOW_MS / 2 });
      expect(JSON.stringify(found.deliverable)).toContain(": 4; the longest is stitch.");
    },
    SLOW_MS,
  );
});

describe("the next commands", () => {
  it("name the command as it can be called: by its name, through npx, or by its path", async () => {
    const next = async (name: string, env: Record<string, string>) => {
      const { out } = await runTessera(["init", join(directory, name)], { npm_command: "", ...env });
      return /^ {2}(.*) validate /m.exec(out)?.[1];
    };
    expect(await next("by-path", { PATH: "/nowhere" })).toMatch(/(?:^|\/)packages\/cli\/bin\/tessera\.js$/);
    expect(await next("by-npx", { npm_command: "exec" })).toBe("npx tessera");
    mkdirSync(join(directory, "bin"));
    writeFileSync(join(directory, "bin/tessera"), "");
    expect(await next("by-name", { PATH: join(directory, "bin") })).toBe("tessera");
  });

  it("of a service hand the key to its executor", async () => {
    const at = join(directory, "with-key");
    const { out } = await runTessera(["init", at, "--template", "service"]);
    expect(out).toContain(`TESSERA_API_KEY=$(cat ${at}/store/key) node ${at}/executor.mjs`);
    expect(out).toContain(`dev ${at} --data ${at}/store`);
  });
});

describe("files that are there", () => {
  it("are not touched: a directory that holds anything is refused without --force", async () => {
    const at = join(directory, "full");
    mkdirSync(at);
    writeFileSync(join(at, "README.md"), "mine");
    const refused = await runTessera(["init", at]);
    expect(refused).toMatchObject({ exitCode: 3, out: "" });
    expect(refused.err).toContain("it holds README.md");
    expect(readFileSync(join(at, "README.md"), "utf8")).toBe("mine");
    expect(existsSync(join(at, "tessera.yaml"))).toBe(false);

    const forced = await runTessera(["init", at, "--force", "--json"]);
    expect(forced).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(forced.out)).toMatchObject({ ok: true, template: "minimal", directory: at });
    expect(readFileSync(join(at, "README.md"), "utf8")).not.toBe("mine");
  });

  it("in the way of the directory are told, and an unknown template is a usage error", async () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(await runTessera(["init", file])).toMatchObject({ exitCode: 3, err: expect.stringContaining("ENOTDIR") });
    expect(await runTessera(["init", join(directory, "x"), "--template", "huge"])).toMatchObject({ exitCode: 2 });
  });
});

function start(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(process.execPath, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "ignore"] });
  running.push(child);
  return child;
}

async function startDev(at: string): Promise<{ url: string; key: string }> {
  const child = start([TESSERA, "dev", at, "--port", "0", "--json"]);
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  await waitFor(() => text.includes("\n"), { what: "dev to start", timeoutMs: SLOW_MS / 2 });
  return JSON.parse(text.split("\n")[0] ?? "");
}

async function ask(url: string, key: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
  });
  return (await answer.json()) as Record<string, unknown>;
}
