import { type Database, FUNCTIONS_LEVEL } from "@tessera/kernel";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createHealth } from "../process/health.ts";
import { type Node, openNode } from "../process/open-node.ts";
import { databaseChecks } from "./database.ts";

let node: Node;
let database: Database;
beforeAll(async () => {
  node = await openNode({ onWarning: () => {}, onFatal: () => {} });
  ({ database } = node.store);
});
afterAll(() => node.close());

async function functionsOf(level: number | null, digest = "another build's") {
  await database.query("update l0.functions_installed set level = $1, digest = $2", [level, digest]);
  const checks = await databaseChecks(database, "memory");
  const { status, checks: health } = await createHealth({ node })();
  return {
    doctor: checks.find(({ name }) => name === "functions"),
    health: { status, says: health.find(({ name }) => name === "schema")?.says },
  };
}

it.each([
  ["of an older build", FUNCTIONS_LEVEL - 1],
  ["of a build before levels", null],
  ["of another branch", FUNCTIONS_LEVEL],
])("functions %s, on the schema of this build, are wrong for doctor and make a process unready", async (_, level) => {
  expect(await functionsOf(level)).toMatchObject({
    doctor: { status: "fail", fault: "configuration", fix: expect.stringContaining("tessera migrate") },
    health: { status: "unready", says: expect.stringContaining("tessera migrate") },
  });
});

it("functions of a newer build serve this one: doctor warns, and the process is ready", async () => {
  expect(await functionsOf(FUNCTIONS_LEVEL + 1)).toMatchObject({
    doctor: { status: "warn", found: expect.stringContaining("newer than this build's") },
    health: { status: "ok" },
  });
});
