// package.json of `tessera init`: what is made, and what is added to one that is there.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES, VERSION } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { completedIgnore, completedPackage, DEV_DEPENDENCIES, newPackage } from "./init-project.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const completed = (manifest: object, isNew = false) =>
  JSON.parse(completedPackage(JSON.stringify(manifest), isNew)?.text ?? "null");

describe("a new package.json", () => {
  it("depends on this version, and on the tools that this repository checks its types with", () => {
    expect(JSON.parse(newPackage("hello")).dependencies).toEqual({ [PACKAGES.main]: `^${VERSION}` });
    const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(DEV_DEPENDENCIES).toEqual({
      typescript: `^${devDependencies.typescript}`,
      "@types/node": devDependencies["@types/node"],
    });
  });

  it.each([
    ["hello", "hello"],
    ["My Swarm!", "my-swarm"],
    ["_.hidden", "hidden"],
    ["typescript", "tessera-project"],
    ["", "tessera-project"],
    ["日本", "tessera-project"],
  ])("in %j is named %s, as npm allows", (directory, name) => {
    expect(JSON.parse(newPackage(directory)).name).toBe(name);
  });
});

describe("a package.json that is there", () => {
  it("keeps a dependency wherever it is, and gets those that are missing in order", () => {
    const manifest = completed({
      dependencies: { zod: "4", [PACKAGES.main]: "0.0.1" },
      devDependencies: { typescript: "5" },
    });
    expect(Object.entries(manifest.dependencies)).toEqual([
      [PACKAGES.main, "0.0.1"],
      ["zod", "4"],
    ]);
    expect(Object.keys(manifest.devDependencies)).toEqual(["@types/node", "typescript"]);
    expect(manifest.devDependencies.typescript).toBe("5");
  });

  it("has nothing to install when nothing is missing", () => {
    const all = JSON.parse(newPackage("x"));
    expect(completedPackage(JSON.stringify(all), false)).toMatchObject({ isIncomplete: false, keptScripts: [] });
    expect(completedPackage("{}", false)).toMatchObject({ isIncomplete: true });
  });

  it("keeps its scripts, but for npm's own that only fails", () => {
    const scripts = { dev: "vite", test: 'echo "Error: no test specified" && exit 1' };
    expect(completed({ scripts }).scripts).toMatchObject({ dev: "vite", test: "node --test" });
    expect(completedPackage(JSON.stringify({ scripts }), false)?.keptScripts).toEqual(["dev"]);
  });

  it("keeps its module system unless nothing depends on it yet", () => {
    expect(completed({ type: "commonjs" })).toMatchObject({ type: "commonjs" });
    expect(completed({ type: "commonjs" }, true)).toMatchObject({ type: "module" });
    const changes = ["commonjs", "module"].map((type) => completedPackage(JSON.stringify({ type }), true)?.isNowModule);
    expect(changes).toEqual([true, false]);
    expect(completed({})).not.toHaveProperty("type");
  });

  it.each(["", "[]", "null", "{ name: x }"])("of %j is none", (text) => {
    expect(completedPackage(text, true)).toBeNull();
  });
});

it("a .gitignore gets the lines that it lacks, once", () => {
  expect(completedIgnore("", "a\nb\n")).toBe("a\nb\n");
  expect(completedIgnore("b\r\nc", "a\nb\n")).toBe("b\r\nc\na\n");
  expect(completedIgnore("a\nb\n", "a\nb\n")).toBe("a\nb\n");
});
