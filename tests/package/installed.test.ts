// What a user's project has after `npm install @tessera/tessera`.

import { execFileSync } from "node:child_process";
import { VERSION } from "@tessera/protocol";
import { expect, it } from "vitest";
import { installedProject } from "./installed-project.ts";

it("tessera answers from a directory that has nothing but what npm installed", async () => {
  const { directory, env } = await installedProject();
  const said = execFileSync("npx", ["tessera", "--version"], { cwd: directory, env, encoding: "utf8" });
  expect(said).toBe(`${VERSION}\n`);
}, 300_000);
