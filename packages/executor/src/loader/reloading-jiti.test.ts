// Modules of a bundle that are loaded again and again into one process.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, expect, it } from "vitest";
import { forgetLoaded, loadedFiles } from "./reloading-jiti.ts";
import { importModule } from "./tool-module.ts";

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "tessera-reloading-")));
  mkdirSync(join(root, "node_modules/pack"), { recursive: true });
  write({
    "node_modules/pack/package.json": '{ "name": "pack", "type": "module", "exports": "./index.js" }',
    "node_modules/pack/index.js": "export const pack = 'packed'; export const object = {};",
  });
});
afterEach(() => {
  forgetLoaded();
  rmSync(root, { recursive: true, force: true });
});

function write(files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, file), text);
}

async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  forgetLoaded();
  return (await importModule(join(root, file), {
    root,
    isReloadable: true,
    cacheDir: join(root, ".cache"),
  })) as Readonly<Record<string, unknown>>;
}

const ENTRY = `import { ts } from './a'; import { mjs } from './b.mjs'; import { esm } from './c.js'; import cjs from './d.cjs';
  import { named } from './d.cjs'; import json from './e.json' with { type: 'json' }; import { pack } from 'pack'; import { ToolError } from '@tessera/tool';
  const waited = await Promise.resolve(true);
  export const found = { ts, mjs, esm, cjs: cjs.named, named, json: json.n, pack, own: ToolError.name, waited };`;
const parts = (n: number) => ({
  "a.ts": `export const ts: number = ${n};`,
  "b.mjs": `export const mjs = await Promise.resolve(${n});`,
  "c.js": `export const esm = ${n};`,
  "d.cjs": `module.exports = { named: ${n} };`,
  "e.json": `{ "n": ${n} }`,
});
const found = (n: number) => {
  return { ts: n, mjs: n, esm: n, cjs: n, named: n, json: n, pack: "packed", own: "ToolError", waited: true };
};

it("each load is of the files as they are, whatever kind of module they are, and what is in use stays as it was", async () => {
  write({ "package.json": '{ "type": "module" }', "entry.ts": ENTRY, ...parts(1) });
  const one = await load("entry.ts");
  expect(one.found).toEqual(found(1));
  write(parts(2));
  expect((await load("entry.ts")).found).toEqual(found(2));
  expect(one.found).toEqual(found(1));
  expect(
    loadedFiles()
      .filter((file) => file.startsWith(root))
      .toSorted(),
  ).toEqual(["a.ts", "b.mjs", "c.js", "d.cjs", "e.json", "entry.ts"].map((file) => join(root, file)));
});

it("a file that comes into being later is found, and a mistake does not stay after it is mended", async () => {
  write({ "entry.ts": "import { n } from './later'; export const found = n;" });
  await expect(load("entry.ts")).rejects.toThrow("cannot be loaded");
  write({ "later.ts": "export const n = ;" });
  await expect(load("entry.ts")).rejects.toThrow("later.ts:1:18");
  write({ "later.ts": "export const n = 3;" });
  expect((await load("entry.ts")).found).toBe(3);
  write({ "later.js": "export const n = 4;" });
  rmSync(join(root, "later.ts"));
  expect((await load("entry.ts")).found).toBe(4);
});

it("a package is loaded once", async () => {
  write({ "entry.ts": "import { object } from 'pack'; export const found = object;" });
  expect((await load("entry.ts")).found).toBe((await load("entry.ts")).found);
});

it("memory does not grow with the number of loads", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const ballast = (n: number) => ({
    "entry.mjs": "import { held } from './held.ts'; export const found = held.length;",
    "held.ts": `export const held = new Array(1_000_000).fill(${n}); // 8 MB`,
  });
  const heapMb = () => {
    collect();
    return process.memoryUsage().heapUsed / 1e6;
  };
  for (let n = 0; n < 3; n++) {
    write(ballast(n));
    await load("entry.mjs");
  }
  const before = heapMb();
  for (let n = 0; n < 60; n++) {
    write(ballast(n));
    expect((await load("entry.mjs")).found).toBe(1_000_000);
  }
  expect(heapMb() - before).toBeLessThan(60); // all of them would be 480
}, 60_000);
