// The manifests of the workspace and what is published of them agree.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PACKAGES, SUBPATHS, VERSION } from "@tessera/protocol";
import { expect, it } from "vitest";
import { PUBLISHED } from "./packages.ts";
import { ROOT, readWorkspace } from "./workspace.ts";

const { manifests } = readWorkspace();

it("every package of the workspace has this build's version, and asks for it of the others", () => {
  const own = new Set([...manifests.values()].map(({ name }) => name));
  for (const { name, version, dependencies } of manifests.values()) {
    const asked = Object.entries(dependencies).filter(([dependency]) => own.has(dependency));
    expect([name, version, ...asked.map(([, range]) => range)]).toEqual([name, VERSION, ...asked.map(() => VERSION)]);
  }
});

it("the folder that describes a published package has its name, and asks for the Node that the command asks for", () => {
  const launcher = readFileSync(join(ROOT, "packages/cli/bin/tessera.js"), "utf8");
  const [, major, minor] = /NODE_MIN = \[(\d+), (\d+)\]/.exec(launcher) ?? [];
  for (const { name, described } of PUBLISHED) {
    expect(manifests.get(described)).toMatchObject({ name, engines: { node: `>=${major}.${minor}` } });
  }
  expect(PUBLISHED.map(({ name }) => name).sort()).toEqual(Object.values(PACKAGES).sort());
});

it("the main package exports itself and its subpaths, in the workspace and published", () => {
  const subpaths = SUBPATHS.map((subpath) => `./${subpath}`);
  expect(Object.keys(manifests.get("tessera")?.exports ?? {})).toEqual([".", ...subpaths]);
  const main = PUBLISHED.find(({ name }) => name === PACKAGES.main);
  expect(Object.keys(main?.exports ?? {})).toEqual([".", ...subpaths]);
});
