// Which modules that run in children are looked at again when files change.

import type { ModuleVersion } from "@tessera/executor";
import { beforeEach, expect, it } from "vitest";
import { createIsolatedModules, type IsolatedModules } from "./isolated-modules.ts";

const FILES: Readonly<Record<string, readonly string[]>> = {
  "/b/a.ts": ["/b/a.ts", "/b/lib.ts"],
  "/b/c.ts": ["/b/c.ts", "/b/lib.ts", "/b/words.txt"],
};
let looked: string[];
let used: string[];
let dropped: string[];
let broken: Set<string>;
let modules: IsolatedModules;

beforeEach(async () => {
  [looked, used, dropped, broken] = [[], [], [], new Set()];
  const idOf = ({ entry, path }: ModuleVersion) => `${entry}@${path}`;
  modules = createIsolatedModules({
    async inspect(entry) {
      looked.push(entry);
      if (broken.has(entry)) throw new Error("cannot be loaded");
      return {
        handlers: [],
        reconcilers: [],
        version: { entry, path: String(looked.length), files: FILES[entry] ?? [] },
      };
    },
    use: (version) => void used.push(idOf(version)),
    drop: (version) => void dropped.push(idOf(version)),
  });
  await load([]);
  modules.use();
  looked = [];
});

async function load(changed: readonly string[], here: readonly string[] = []): Promise<boolean> {
  const isHere = modules.begin(changed, here);
  await Promise.allSettled(Object.keys(FILES).map((entry) => modules.inspect(entry, "/b")));
  return isHere;
}

it.each([
  ["a module's own file", ["/b/a.ts"], ["/b/a.ts"]],
  ["a file that several import", ["/b/lib.ts"], ["/b/a.ts", "/b/c.ts"]],
  ["a file that was read meanwhile", ["/b/words.txt"], ["/b/c.ts"]],
  ["an unknown source", ["/b/new.ts"], ["/b/a.ts", "/b/c.ts"]],
  ["how modules are found", ["/b/tsconfig.json"], ["/b/a.ts", "/b/c.ts"]],
  ["a resource", ["/b/tessera.yaml"], []],
  ["a module of this process", ["/b/inline.ts"], []],
])("after a change of %s", async (_, changed, expected) => {
  const isHere = await load(changed, ["/b/inline.ts"]);
  expect(looked).toEqual(expected);
  expect(isHere).toBe(["/b/new.ts", "/b/tsconfig.json", "/b/inline.ts"].includes(changed[0] ?? ""));
});

it("what changed before a load that was dropped is not forgotten", async () => {
  broken.add("/b/c.ts");
  await load(["/b/a.ts", "/b/c.ts"]);
  modules.drop();
  await Promise.resolve();
  expect(dropped).toEqual(["/b/a.ts@1"]);
  broken.clear();
  looked = [];
  await load(["/b/c.ts"]);
  expect(looked).toEqual(["/b/a.ts", "/b/c.ts"]);
  expect(modules.isChanged("/b/a.ts")).toBe(true);
  used = [];
  modules.use();
  expect(used).toEqual(["/b/a.ts@1", "/b/c.ts@2"]);
  looked = [];
  await load(["/b/tessera.yaml"]);
  expect(looked).toEqual([]);
});

it("a module that is looked at only because a new source is not known to belong to another has not changed", async () => {
  await load(["/b/new.ts"]);
  expect(modules.isChanged("/b/a.ts")).toBe(false);
});
