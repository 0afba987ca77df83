// What git ignores is no source: stores that `npm start` makes, caches, build output. The checks pass them over.

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules/.bin");
const GOOD = "export const one = 1;\n";
const BAD = "var   x:any=1\n";

let clone: string;

beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), "tessera-clone-"));
  for (const file of [".gitignore", "biome.json", "tsconfig.json"]) cpSync(join(ROOT, file), join(clone, file));
  write("examples/good.ts", GOOD);
});

afterEach(() => rmSync(clone, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true });
  writeFileSync(join(clone, path), text);
}

/** A directory for every pattern of directories in .gitignore: at the root, and below it where the pattern says so. */
function ignoredDirectories(): string[] {
  const lines = readFileSync(join(ROOT, ".gitignore"), "utf8").split("\n");
  const patterns = lines.filter((line) => line.endsWith("/"));
  return patterns.flatMap((pattern) =>
    pattern.startsWith("/") ? [pattern.slice(1)] : [pattern, `examples/quickstart/${pattern}`, `tests/cli/${pattern}`],
  );
}

function lint() {
  const { status, stdout, stderr } = spawnSync(join(BIN, "biome"), ["ci", "--colors=off", "."], {
    cwd: clone,
    encoding: "utf8",
  });
  return { status, said: stdout + stderr };
}

test("lint passes over what git ignores, as the store that `npm start` leaves in .tessera/", () => {
  const ignored = ignoredDirectories();
  expect(ignored).toContain(".tessera/");
  for (const directory of ignored) {
    write(`${directory}work/notes.ts`, BAD);
    write(`${directory}work/state.json`, '{"a":   1}');
  }
  expect(lint()).toMatchObject({ status: 0 });
  write("examples/bad.ts", BAD);
  expect(lint()).toMatchObject({ status: 1, said: expect.stringContaining("examples/bad.ts") });
});

test("the type check passes over what git ignores", () => {
  for (const directory of ignoredDirectories()) write(`${directory}work/notes.ts`, BAD);
  const shown = execFileSync(join(BIN, "tsc"), ["-p", "tsconfig.json", "--showConfig"], { cwd: clone });
  expect(JSON.parse(shown.toString("utf8")).files).toEqual(["./examples/good.ts"]);
});
