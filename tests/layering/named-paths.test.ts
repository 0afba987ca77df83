// What the documents for contributors call by its path is there: a file that moved takes its mentions with it.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PATH = /`((?:packages|tests|scripts|docs|examples|deploy|bench|proof)\/[^`\s]+)`/g;
/** Stands for a number that is still to be given. */
const PLACEHOLDER = /NNNN/;

/** Of `{a,b}` and `*` one file is enough; what follows `#` is a heading, which other tests look at. */
const isThere = (path: string) => globSync(path.replace(/#.*/, ""), { cwd: ROOT }).length > 0;

it.each(["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"])(
  "each path that %s names leads to a file or a folder",
  (document) => {
    const paths = [...readFileSync(join(ROOT, document), "utf8").matchAll(PATH)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !PLACEHOLDER.test(path) && !isThere(path))).toEqual([]);
  },
);

it("a path that leads nowhere is noticed", () => {
  expect(["packages/pmo/src/internal-tools.ts", "packages/pmo/src/service/internal-tools.ts"].map(isThere)).toEqual([
    true,
    false,
  ]);
});
