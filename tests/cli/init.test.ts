// `tessera init`: each template is valid, and runs at once, wherever it was written.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
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
      const made = await runHere(["init", at, "--template", template]);
      expect(made).toMatchObject({ exitCode: 0, err: "" });
      for (const file of ["tessera.yaml", "README.md", ".gitignore", "package.json", "tsconfig.json"]) {
        expect(existsSync(join(at, file))).toBe(true);
      }
      const valid = await runHere(["validate", at, "--strict"]);
      expect(valid, valid.out).toMatchObject({ exitCode: 0, out: expect.stringMatching(/: no mistakes\n$/) });
      const ran = await runHere(["run", at, "--input", input]);
      expect(ran.exitCode, ran.err).toBe(0);
      expect(ran.out).toBe(deliverable);
    },
    SLOW_MS,
  );

  it(
    "service waits for its executor, and delivers once that is there",
    async () => {
      const at = join(directory, "service");
      expect((await runHere(["init", at, "--template", "service"])).exitCode).toBe(0);
      expect((await runHere(["validate", at, "--strict"])).exitCode).toBe(0);
      const { url, key } = await startDev(at);
      const asked = await ask(`${url}/projects/default/turns`, key, { agent: "assistant", input: "a stitch in time" });
      start([join(at, "executor.ts")], { TESSERA_URL: url, TESSERA_API_KEY: key });
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
  const next = (out: string) => out.slice(out.indexOf("Next:\n") + 6).replaceAll(/^ {2}/gm, "");

  it("begin with the directory and npm install", async () => {
    const { out } = await runTessera(["init", join(directory, "a place")]); // as a process
    expect(next(out)).toBe(
      `cd '${directory}/a place'\nnpm install\nnpx tessera run . --input 'hello world'\nnpm test\nnpm run dev\n`,
    );
  });

  it("of a service hand the key to its executor", async () => {
    const { out } = await runHere(["init", join(directory, "with-key"), "--template", "service"]);
    expect(next(out)).toContain("TESSERA_API_KEY=$(cat store/key) node executor.ts ");
    expect(next(out)).toContain("npx tessera run --data ./store --input 'a stitch in time' ");
  });
});

describe("files that are there", () => {
  const project = (name: string, files: Readonly<Record<string, string>>) => {
    const at = join(directory, name);
    mkdirSync(at);
    for (const [file, text] of Object.entries(files)) writeFileSync(join(at, file), text);
    return { at, read: (file: string) => readFileSync(join(at, file), "utf8") };
  };

  it("make a directory without package.json one to refuse, unless --force", async () => {
    const { at, read } = project("full", { "notes.txt": "mine", "README.md": "mine" });
    const refused = await runHere(["init", at]);
    expect(refused).toMatchObject({ exitCode: 3, out: "" });
    expect(refused.err).toContain("it holds README.md, notes.txt and no package.json");
    expect(existsSync(join(at, "tessera.yaml"))).toBe(false);

    const forced = await runHere(["init", at, "--force", "--json"]);
    expect(forced).toMatchObject({ exitCode: 0, err: "" });
    expect(JSON.parse(forced.out)).toMatchObject({ ok: true, template: "minimal", directory: at, kept: [] });
    expect(read("README.md")).not.toBe("mine");
    expect(read("notes.txt")).toBe("mine");
  });

  it("of a new project are completed, and the project becomes one of ES modules", async () => {
    const made = { name: "mine", type: "commonjs", scripts: { test: 'echo "Error: no test specified" && exit 1' } };
    const dependencies = { "@tessera/tessera": "0.1.0" };
    const { at, read } = project("new", {
      "package.json": JSON.stringify({ ...made, dependencies }),
      ".gitignore": "dist\nnode_modules/",
      "README.md": "mine",
    });
    const ran = await runHere(["init", at]);
    expect(ran).toMatchObject({ exitCode: 0, err: "" });
    expect(ran.out).toContain(`${at}/package.json   (was there; what was missing is added)`);
    expect(ran.out).toContain('package.json has now "type": "module"');
    expect(ran.out).toContain(`kept ${at}/README.md as it is`);
    const manifest = JSON.parse(read("package.json"));
    expect(manifest).toMatchObject({ name: "mine", type: "module", dependencies, scripts: { test: "node --test" } });
    expect(manifest.devDependencies).toHaveProperty("typescript");
    expect(read(".gitignore")).toBe("dist\nnode_modules/\nstore/\n");
    expect(read("README.md")).toBe("mine");
  });

  it(
    "of a project with code of its own stay what they are: its modules, its scripts, its tsconfig.json",
    async () => {
      const own = {
        name: "mine",
        type: "commonjs",
        scripts: { test: "jest" },
        devDependencies: { typescript: "~5.9.0" },
      };
      const { at, read } = project("grown", {
        "package.json": JSON.stringify(own, null, "\t"),
        "index.js": "exports.a = 1;",
        "tsconfig.json": "{}",
      });
      const ran = await runHere(["init", at]);
      expect(ran).toMatchObject({ exitCode: 0, err: "" });
      expect(ran.out).toContain("kept the script test of package.json as it is");
      expect(JSON.parse(read("package.json"))).toMatchObject(own);
      expect(read("package.json")).toMatch(/^\{\n\t"name"/);
      expect(read("tsconfig.json")).toBe("{}");
      expect(read("tessera.yaml")).toContain("entry: ./tools/words.mts");
      expect(read("tools/words.test.mts")).toContain('from "./words.mts"');
      expect(await runHere(["validate", at, "--strict"])).toMatchObject({ exitCode: 0 });
      const asked = await runHere(["run", at, "--input", "hello world"]);
      expect(asked.out, asked.err).toBe('Words in "hello world": 2.\n');
    },
    SLOW_MS,
  );

  it("with the names of the template's are refused before anything is written", async () => {
    const { at, read } = project("taken", { "package.json": "{}", "tessera.yaml": "mine" });
    const refused = await runHere(["init", at]);
    expect(refused).toMatchObject({
      exitCode: 3,
      out: "",
      err: expect.stringContaining("there is tessera.yaml already"),
    });
    expect(read("package.json")).toBe("{}");
    expect(read("tessera.yaml")).toBe("mine");
  });

  it("that are no package.json of npm's are an error", async () => {
    const { at } = project("odd", { "package.json": "{ name: mine }" });
    const refused = await runHere(["init", at]);
    expect(refused).toMatchObject({ exitCode: 3, out: "", err: expect.stringContaining("is not a JSON object") });
    expect(existsSync(join(at, "tessera.yaml"))).toBe(false);
  });

  it("in the way of the directory are an error, and an unknown template is a usage error", async () => {
    const file = join(directory, "file");
    writeFileSync(file, "");
    expect(await runHere(["init", file])).toMatchObject({ exitCode: 3, err: expect.stringContaining("ENOTDIR") });
    expect(await runHere(["init", join(directory, "x"), "--template", "huge"])).toMatchObject({ exitCode: 2 });
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
