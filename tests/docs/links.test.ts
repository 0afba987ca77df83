// Links of the documents: every relative one leads to a file, and to a heading where it names one.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";
import { anchorsOf } from "./headings.ts";
import { ROOT } from "./run-guide.ts";

const FOLDERS = ["docs", "examples", "deploy"];
/** Installed, built, or in a store that an example made. */
const IGNORED = /(?:^|\/)(?:node_modules|dist|\.[^/]+)\//;
const LINK = /\]\((?!https?:)([^)#\s]*)(#[^)\s]+)?\)/g;

function documents(): string[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  const below = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md") && !IGNORED.test(name))
      .map((name) => join(folder, name)),
  );
  const packages = readdirSync(join(ROOT, "packages")).map((name) => join("packages", name, "README.md"));
  return [...top, ...below, ...packages];
}

it.each(documents())("every link of %s leads somewhere", (document) => {
  const broken: string[] = [];
  for (const [, path = "", anchor] of readFileSync(join(ROOT, document), "utf8").matchAll(LINK)) {
    const file = path === "" ? join(ROOT, document) : join(ROOT, dirname(document), path);
    const isThere = existsSync(file);
    const hasAnchor =
      anchor === undefined || (isThere && statSync(file).isFile() && anchorsOf(readFileSync(file, "utf8")).has(anchor));
    if (!isThere || !hasAnchor) broken.push(`${relative(ROOT, file)}${anchor ?? ""}`);
  }
  expect(broken).toEqual([]);
});
