// What comments cite of the documents: a page of docs, by its path and heading or id (`docs/design.md#effects`), or a decision
// by its number (`decision 29`). Anything else would lead out of the repository.
//
//   C1. Every citation leads somewhere, in sources, tests and SQL, and in what is shipped with them.
//   C2. The marks that stood for documents outside of the repository do not come back. Released migrations keep theirs, because
//       their digests are recorded in every store; docs/design.md says what each means.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { anchorsOf } from "./headings.ts";
import { ROOT } from "./run-guide.ts";

const FOLDERS = ["packages", "tests", "bench", "scripts", "examples", "deploy"];
const ENDINGS = /\.(?:ts|js|mjs|sql|py|sh|conf|ya?ml|md)$/;
const IGNORED = /(?:^|\/)(?:node_modules|dist|\.[^/]+)\//;
const RELEASED = "packages/kernel/sql/migrations/";
/** Its examples of marks are what this test looks for. */
const ITSELF = "tests/docs/citations.test.ts";

/** `docs/page.md` or `docs/page.md#heading`, not as a part of a longer path or an address. */
const CITED = /(?<![\w./-])docs\/[\w./-]+\.md(?:#[\w-]+)?/g;
const DECISION = /\b[Dd]ecisions? (\d{1,2})\b/g;
const OLD_MARK =
  /\b(?:[Dd]esign|[Rr]eference|[Ff]aults?)(?:\.md)?,? (?:§|Part \d|promise \d|D\d|[FNHYTCR]\d)|\bseeds? 00\d|(?<!RFC \d{4} )§\d/;

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

function sources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter((name) => ENDINGS.test(name) && !IGNORED.test(name) && name !== ITSELF),
  );
}

const anchors = new Map<string, Set<string>>();
function hasPlace(citation: string): boolean {
  const [page = "", anchor] = citation.split("#");
  if (!existsSync(join(ROOT, page))) return false;
  if (anchor === undefined) return true;
  const known = anchors.get(page) ?? anchorsOf(read(page));
  anchors.set(page, known);
  return known.has(`#${anchor}`);
}

/** `file:line: citation` for everything that `find` gives for a line. */
function placesOf(find: (line: string, file: string) => readonly string[]): string[] {
  return sources().flatMap((file) =>
    read(file)
      .split("\n")
      .flatMap((line, index) => find(line, file).map((citation) => `${file}:${index + 1}: ${citation}`)),
  );
}

describe("citations in sources", () => {
  it("of pages lead to a page and to a heading or an id in it", () => {
    expect(placesOf((line) => (line.match(CITED) ?? []).filter((citation) => !hasPlace(citation)))).toEqual([]);
  });

  it("of decisions name one that is there", () => {
    const numbers = new Set(readdirSync(join(ROOT, "docs/decisions")).map((name) => Number.parseInt(name, 10)));
    const missing = (line: string) => [...line.matchAll(DECISION)].filter(([, number]) => !numbers.has(Number(number)));
    expect(placesOf((line) => missing(line).map(([text]) => text))).toEqual([]);
  });

  it("name no document outside of the repository", () => {
    const marks = (line: string, file: string) =>
      file.startsWith(RELEASED) ? [] : [OLD_MARK.exec(line)?.[0]].filter((mark) => mark !== undefined);
    expect(placesOf(marks)).toEqual([]);
  });

  it("are found: there are more than a hundred", () => {
    expect(placesOf((line) => line.match(CITED) ?? []).length).toBeGreaterThan(100);
  });

  it("of a page, a heading or an id that is not there would be told", () => {
    const wrong = ["docs/citations.md", "docs/design.md#effect", "docs/faults.md#f99"];
    expect(wrong.map(hasPlace)).toEqual([false, false, false]);
    const right = ["docs/design.md#effects", "docs/faults.md#f23", "docs/reference/security.md#h13"];
    expect(right.map(hasPlace)).toEqual([true, true, true]);
    const lines = ["(design D4)", "(reference §5.5)", "(faults R7)", "Design §4: once", "(reference Part 3, row 9)"];
    expect(lines.filter((line) => !OLD_MARK.test(line))).toEqual([]);
  });
});

describe("what released migrations say", () => {
  it("is explained in docs/design.md, mark by mark", () => {
    const page = read("docs/design.md");
    const marks = readdirSync(join(ROOT, RELEASED)).flatMap((name) =>
      [...read(join(RELEASED, name)).matchAll(/design (?:D\d+|§\d(?:, row shape)?)/g)].map(([mark]) => mark),
    );
    expect(marks.length).toBeGreaterThan(0);
    expect(marks.filter((mark) => !page.includes(`\`${mark}\``))).toEqual([]);
  });
});
