// `tessera validate`, as a person and as a CI job run it.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { runHere } from "./run-here.ts";
import { ROOT, runTessera } from "./run-tessera.ts";

vi.setConfig({ testTimeout: 120_000 }); // the first test runs the whole command, as a process

const BAD = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: words }
spec:
  entry: ./words.mjs
  exports: [{ name: count, options: { placement: isolated } }, { name: longest }]
`;
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-validate-"));
  for (const name of ["bad", "warned"]) mkdirSync(join(directory, name));
  writeFileSync(join(directory, "bad/tessera.yaml"), BAD);
  writeFileSync(join(directory, "warned/tessera.yaml"), BAD.replace(", { name: longest }", ""));
  for (const name of ["bad", "warned"]) {
    writeFileSync(join(directory, name, "words.mjs"), "export const handlers = { count: () => 1 };");
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it("says nothing but the sum for a bundle without mistakes", async () => {
  const ran = await runTessera(["validate", join(ROOT, "examples/swarm")]);
  expect(ran).toEqual({ exitCode: 0, err: "", out: "2 agents, 2 tools, 1 model, 1 swarm: no mistakes\n" });
});

it("prints each finding on a line with file:line:col, and exits 3", async () => {
  const file = join(directory, "bad/tessera.yaml");
  const { exitCode, out, err } = await runHere(["validate", join(directory, "bad")]);
  expect({ exitCode, err }).toEqual({ exitCode: 3, err: "" });
  expect(out.split("\n")).toEqual([
    expect.stringMatching(
      `^${file}:5:10 +error +E_CONFIG_SCHEMA_INVALID +the module ./words.mjs has no handler for longest`,
    ),
    expect.stringMatching(`^${file}:6:39 +warning +unknown_key +"placement" does nothing here`),
    "0 agents, 2 tools: 1 mistake, 1 warning",
    "",
  ]);
});

it("counts warnings as mistakes with --strict, and not without", async () => {
  const warned = join(directory, "warned");
  expect((await runHere(["validate", warned])).exitCode).toBe(0);
  const strict = await runHere(["validate", warned, "--strict"]);
  expect(strict.exitCode).toBe(3);
  expect(strict.out).toContain("1 mistake\n");
});

it("prints workflow commands for GitHub", async () => {
  const { exitCode, out } = await runHere(["validate", join(directory, "bad"), "--format", "github"]);
  expect(exitCode).toBe(3);
  expect(out).toMatch(/^::error file=\/.*bad\/tessera\.yaml,line=5,col=10,title=E_CONFIG_SCHEMA_INVALID::the module/);
  expect(out).toMatch(/\n::warning file=.*,line=6,col=39,title=unknown_key::/);
});

it.each([["--json"], ["--format", "json"]])("prints one object with %s", async (...flags) => {
  const { exitCode, out, err } = await runHere(["validate", join(directory, "bad"), ...flags]);
  expect({ exitCode, err }).toEqual({ exitCode: 3, err: "" });
  expect(JSON.parse(out)).toMatchObject({
    ok: false,
    counts: { tools: 2 },
    findings: [
      { severity: "error", line: 5, column: 10, pointer: "" },
      { severity: "warning", code: "unknown_key", pointer: "/spec/exports/0/options/placement" },
    ],
  });
});

it("takes a single file, and reports one that is not there in the asked form", async () => {
  expect((await runHere(["validate", join(directory, "bad/tessera.yaml")])).exitCode).toBe(3);
  const gone = join(directory, "gone.yaml");
  const text = await runHere(["validate", gone]);
  expect(text).toMatchObject({ exitCode: 3, out: "" });
  expect(text.err).toContain(`there is no bundle at ${gone}: ENOENT`);
  const json = await runHere(["validate", gone, "--format", "json"]);
  expect(json).toMatchObject({ exitCode: 3, err: "" });
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, findings: [{ code: "E_CONFIG_ENTRY_NOT_FOUND" }] });
});

it("refuses a directory that holds no bundle, as run does, and names a file whose name is wrong", async () => {
  const empty = join(directory, "empty");
  mkdirSync(empty);
  const none = await runHere(["validate", empty]);
  expect(none).toMatchObject({ exitCode: 3, out: "", err: expect.stringContaining(`there is no bundle at ${empty}`) });
  writeFileSync(join(empty, "mine.yaml"), BAD);
  expect((await runHere(["validate", empty])).err).toContain("mine.yaml: this file holds resources and is not read");
});

it("shows a syntax error of a module at its own line, on one line", async () => {
  const bundle = join(directory, "syntax");
  mkdirSync(bundle);
  writeFileSync(
    join(bundle, "tessera.yaml"),
    BAD.replace(", options: { placement: isolated }", "").replace(".mjs", ".ts"),
  );
  writeFileSync(join(bundle, "words.ts"), "export const handlers = {\n  count: () => = 1,\n};\n");
  const { exitCode, out } = await runHere(["validate", bundle]);
  expect(exitCode).toBe(3);
  const [first = ""] = out.split("\n");
  expect(first).toContain(`${join(bundle, "words.ts")}:2:16  error`);
  expect(first).toContain("it is named at tessera.yaml:5:10");
  expect(first).not.toContain("\\u000a");
});

it("is not fooled by a config file that prints on stdout and ends the process as if all were well", async () => {
  const bundle = join(directory, "leaving");
  mkdirSync(bundle);
  writeFileSync(join(bundle, "tessera.config.mjs"), 'console.log("all is well"); process.exit(0);\n');
  const { exitCode, out, err } = await runTessera(["validate", bundle, "--json"]);
  expect(JSON.parse(out)).toMatchObject({ ok: false, error: { message: expect.stringContaining("ended before") } });
  expect({ exitCode, err }).toEqual({ exitCode: 1, err: "all is well\n" });
});

it("a typo in a prompt is a mistake with its place and the nearest name, and nothing runs with it", async () => {
  const path = join(directory, "typo");
  mkdirSync(path);
  const MODEL = "apiVersion: goondan.ai/v1\nkind: Model\nmetadata: { name: m }\nspec: { provider: openai, model: x }\n";
  const agent =
    "apiVersion: goondan.ai/v1\nkind: Agent\nmetadata: { name: a }\nspec:\n  modelConfig: { modelRef: Model/m }\n";
  writeFileSync(join(path, "tessera.yaml"), `${MODEL}---\n${agent}  prompt:\n    systm: Be brief.\n`);
  const says = 'tessera.yaml:12:5: "systm" is not a field here; did you mean `system`?';
  const validated = await runHere(["validate", path]);
  expect(validated.exitCode).toBe(3);
  expect(validated.out.replaceAll(/\s+/g, " ")).toContain(
    'E_CONFIG_SCHEMA_INVALID "systm" is not a field here; did you mean `system`?',
  );
  const ran = await runHere(["run", path, "--input", "hi"]);
  expect(ran.exitCode).toBe(3);
  expect(ran.err.replaceAll(/\s+/g, " ")).toContain(says);
});
