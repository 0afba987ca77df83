// Writes the stores of this build: `node tests/upgrade/write-stores.ts NAME`, NAME being its commit.
//
// A process parks work on each engine and is killed; what it left is packed into stores/.

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openPostgres } from "@tessera/engines/postgres";
import { migrate } from "@tessera/kernel";
import type { TestEngine } from "@tessera/testkit";
import { TestChild } from "@tessera/testkit/child-process";
import { startPostgres } from "@tessera/testkit/postgres-server";
import { findPostgres } from "@tessera/testkit/server-binaries";
import { BUNDLE, type ParkedTurns, type ParkOrder, packDirectory, saveStore } from "./parked-store.ts";

const PARK = new URL("./park-process.ts", import.meta.url);
const ROLES = readFileSync(new URL("../../deploy/roles.sql", import.meta.url), "utf8");

const [name] = process.argv.slice(2);
if (name === undefined || !/^[a-z0-9.-]+$/.test(name)) {
  process.stderr.write("usage: node tests/upgrade/write-stores.ts NAME  (the commit or the version of this build)\n");
  process.exit(2);
}

async function park(
  engine: TestEngine,
  store: Pick<ParkOrder, "data" | "postgres">,
  pack: () => Buffer,
): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "tessera-parked-bundle-"));
  try {
    const bundle = hangingCopy(join(root, "bundle"));
    const served = hangingCopy(join(root, "served"));
    const documents = readFileSync(join(BUNDLE, "tessera.yaml"), "utf8").split("---\n");
    writeFileSync(
      join(served, "tessera.yaml"),
      documents.filter((text) => text.includes("name: busy }")).join("---\n"),
    );
    const child = await TestChild.start(PARK, { args: [JSON.stringify({ ...store, bundle, served })] });
    const isParked = ({ event }: { event?: string }) => event === "parked";
    const { turns } = await child.waitForMessage<{ event: string; turns: ParkedTurns }>("parked", isParked, 120_000);
    await child.kill();
    const ledger = [bundle, served].map((place) => readFileSync(join(place, "ledger.jsonl"), "utf8")).join("");
    saveStore({ name: String(name), engine, writtenAt: new Date().toISOString(), turns, ledger }, pack());
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function hangingCopy(directory: string): string {
  cpSync(BUNDLE, directory, { recursive: true });
  writeFileSync(join(directory, "hang"), "");
  return directory;
}

const data = mkdtempSync(join(tmpdir(), "tessera-parked-"));
await park("pglite", { data }, () => packDirectory(data)).finally(() => rmSync(data, { recursive: true, force: true }));

const server = await startPostgres();
try {
  const database = await openPostgres({ url: server.url, poolMax: 1 });
  await migrate(database);
  await database.script(ROLES).finally(() => database.close());
  const dump = () => {
    const options = ["--no-owner", "--inserts", `--dbname=${server.url}`];
    const text = execFileSync(join(findPostgres(), "pg_dump"), options, { maxBuffer: 1 << 30, encoding: "utf8" });
    return Buffer.from(text.replaceAll(/^\\(un)?restrict .*$/gm, "")); // commands of psql, of newer dumps only
  };
  await park("postgres", { postgres: server.url }, dump);
} finally {
  await server.stop("immediate");
}
