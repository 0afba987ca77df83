// Modules with versions: what runs is what was looked at and taken into use, whatever is on disk by then.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { expect, it } from "vitest";
import { newHost, root, run, useIsolatedBench } from "../../../test/isolated-bench.ts";
import type { IsolatedHost, ModuleVersion } from "./isolated-host.ts";

useIsolatedBench();

async function versionedHost(limits = {}): Promise<{ host: IsolatedHost; versionsDir: string; directory: string }> {
  const versionsDir = await mkdtemp(join(root, "versions-"));
  return { host: await newHost({ versionsDir, limits }), versionsDir, directory: await mkdtemp(join(root, "bundle-")) };
}

async function write(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [file, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
}

async function look(host: IsolatedHost, entry: string, directory: string): Promise<ModuleVersion> {
  const { version } = await host.inspect(entry, directory);
  if (version === undefined) throw new Error("a host with versions names them");
  return version;
}

const KINDS: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  [
    "TypeScript",
    "tool.ts",
    {
      "tool.ts": "import { says } from './lib'; export const handlers = { say: (): unknown => says() };",
      "lib.ts":
        "import data from './data.json' with { type: 'json' }; export const says = () => ({ says: data.says });",
      "data.json": '{ "says": "SAYS" }',
    },
  ],
  [
    "ES modules that Node loads itself",
    "tool.mjs",
    {
      "tool.mjs": "import { says } from './lib.mjs'; export const handlers = { say: () => ({ says }) };",
      "lib.mjs": "export const says = 'SAYS';",
    },
  ],
  [
    "CommonJS",
    "tool.cjs",
    {
      "tool.cjs": "const { says } = require('./lib.cjs'); exports.handlers = { say: () => ({ says }) };",
      "lib.cjs": "exports.says = 'SAYS';",
    },
  ],
];

it.each(KINDS)("a version in use outlives its files and its children: %s", async (_, name, files) => {
  const { host, directory } = await versionedHost({ callsPerChildMax: 1 });
  const entry = join(directory, name);
  const says = (what: string) =>
    Object.fromEntries(Object.entries(files).map(([file, text]) => [file, text.replace("SAYS", what)]));
  const call = () => run(host, "say", { entry });
  await write(directory, says("one"));
  const first = await look(host, entry, directory);
  expect(first.files.toSorted()).toEqual(
    Object.keys(files)
      .map((file) => join(directory, file))
      .toSorted(),
  );
  host.use(first);
  expect(await call()).toMatchObject({ result: { says: "one" } });

  await write(directory, Object.fromEntries(Object.keys(files).map((file) => [file, "{ broken"])));
  await expect(host.inspect(entry, directory)).rejects.toThrow("cannot be loaded");
  for (let again = 0; again < 2; again++) expect(await call()).toMatchObject({ result: { says: "one" } });

  await write(directory, says("two"));
  const second = await look(host, entry, directory);
  expect(await call()).toMatchObject({ result: { says: "one" } });
  host.use(second);
  expect(await call()).toMatchObject({ result: { says: "two" } });
});

it("a version that is dropped changes nothing, and one that breaks in a row keeps the one in use from nothing", async () => {
  const { host, directory } = await versionedHost();
  const entry = join(directory, "tool.ts");
  await write(directory, { "tool.ts": "export const handlers = { say: () => ({ says: 'one' }) };" });
  host.use(await look(host, entry, directory));
  await write(directory, { "tool.ts": "export const handlers = { say: () => ({ says: 'two' }) };" });
  host.drop(await look(host, entry, directory));
  await write(directory, { "tool.ts": "process.exit(3);" });
  for (let n = 0; n < 4; n++) await expect(host.inspect(entry, directory)).rejects.toThrow("exit code 3");
  expect(await run(host, "say", { entry })).toMatchObject({ result: { says: "one" } });
});

it("a run that has begun ends in its version, and the next begins in the new one", async () => {
  const { host, directory } = await versionedHost();
  const entry = join(directory, "tool.ts");
  const source = (says: string) => `import { existsSync, writeFileSync } from "node:fs";
    export const handlers = { say: async (ctx: any) => {
      writeFileSync(ctx.workdir + "/begun-${says}", "");
      while ("${says}" === "one" && !existsSync(ctx.workdir + "/go")) await new Promise((resolve) => setTimeout(resolve, 10));
      return { says: "${says}", dir: ctx.workdir };
    } };`;
  await write(directory, { "tool.ts": source("one") });
  host.use(await look(host, entry, directory));
  const old = run(host, "say", { entry });
  const { workdir } = await import("../../../test/isolated-bench.ts");
  await waitFor(() => existsSync(join(workdir, "begun-one")), { what: "the first run to begin" });
  await write(directory, { "tool.ts": source("two") });
  host.use(await look(host, entry, directory));
  expect(await run(host, "say", { entry })).toMatchObject({ result: { says: "two" } });
  await writeFile(join(workdir, "go"), "");
  expect(await old).toMatchObject({ result: { says: "one" } });
  await waitFor(() => host.children() === 1, { what: "the old child to end" });
});

it("a new version is looked at while every child is at work", async () => {
  const { host, directory } = await versionedHost({ childrenMax: 1, childrenPerEntryMax: 1 });
  const entry = join(directory, "tool.ts");
  await write(directory, { "tool.ts": "export const handlers = { hang: () => new Promise(() => {}) };" });
  host.use(await look(host, entry, directory));
  const stop = new AbortController();
  const hanging = run(host, "hang", { entry, signal: stop.signal });
  await write(directory, { "tool.ts": "export const handlers = { say: () => ({}) };" });
  expect((await host.inspect(entry, directory)).handlers).toEqual(["say"]);
  stop.abort();
  expect((await hanging).status).toBe("canceled");
});

it("however often a module changes, few files and few children are left", async () => {
  const { host, versionsDir, directory } = await versionedHost();
  const entry = join(directory, "tool.mjs");
  for (let n = 0; n < 40; n++) {
    await write(directory, { "tool.mjs": `export const handlers = { say: () => ({ says: ${n} }) };` });
    host.use(await look(host, entry, directory));
  }
  expect(await run(host, "say", { entry })).toMatchObject({ result: { says: 39 } });
  await waitFor(() => host.children() === 1, { what: "old children to end" });
  expect((await readdir(versionsDir)).length).toBeLessThan(40);
}, 60_000);
