// The index of the 97 rows against the tests it names: every row is there, every title is a title, every word stands in that test.
// A test that is renamed, removed or no longer names what the row asks for makes this red. Whether it sends what it names is
// beyond this: that is read, not tested.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";
import { BOUNDARIES, CONDITIONAL, conditionOf, FILES, type FileName } from "./rows/index.ts";
import { THREATS } from "./threats.ts";

const ROOT = join(import.meta.dirname, "../..");
const TEST_CALL = /^(it|test|describe)\b/;
const NOT_RUN = /^(it|test|describe)(\.\w+)*\.(skip|todo|fails)\b/;
const RUN_IF = /^(it|test|describe)(\.\w+)*\.(runIf|skipIf)\(/;

interface Case {
  /** The title, or the texts of a table's row. */
  readonly titles: readonly string[];
  /** The whole test, or the table's row. */
  readonly source: string;
  /** It, or what it is in, is skipped on some machines. */
  readonly isConditional: boolean;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** The tests of a file, the rows of their tables among them. */
function casesOf(file: string): Case[] {
  const text = readFileSync(join(ROOT, file), "utf8");
  const sourceOf = ({ start, end }: SyntaxNode) => text.slice(start, end);
  const titleOf = (node: SyntaxNode): string[] => {
    if (node.type === "Literal") return typeof node.value === "string" ? [node.value] : [];
    return node.type === "TemplateLiteral" ? [sourceOf(node)] : [];
  };
  const cases: Case[] = [];
  let isConditional = false;
  const add = (node: SyntaxNode, texts: readonly SyntaxNode[]) => {
    const titles = texts.flatMap(titleOf);
    if (titles.length > 0) cases.push({ titles, source: sourceOf(node), isConditional });
  };
  const visit = (node: SyntaxNode): void => {
    const isOutside = isConditional;
    if (node.type === "CallExpression") {
      const callee = sourceOf(node.callee as SyntaxNode);
      if (NOT_RUN.test(callee)) return;
      isConditional ||= RUN_IF.test(callee);
      if (TEST_CALL.test(callee)) add(node, (node.arguments as SyntaxNode[]).slice(0, 1));
    } else if (node.type === "ArrayExpression") {
      add(
        node,
        (node.elements as (SyntaxNode | null)[]).filter((element) => element !== null),
      );
    } else if (node.type === "ObjectExpression") {
      add(
        node,
        (node.properties as SyntaxNode[]).flatMap(({ value }) => (isNode(value) ? [value] : [])),
      );
    }
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child);
    isConditional = isOutside;
  };
  visit(parseAst(text, { lang: "ts" }) as unknown as SyntaxNode);
  return cases;
}

const isNode = (value: unknown): value is SyntaxNode => typeof value === "object" && value !== null && "type" in value;

const known = new Map<FileName, Case[]>();
function cases(name: FileName): Case[] {
  const found = known.get(name) ?? casesOf(FILES[name]);
  known.set(name, found);
  return found;
}

describe("the index of bad input", () => {
  it("has all 97 rows, each once, in order", () => {
    const ids = BOUNDARIES.flatMap(({ rows }) => rows.map(({ id }) => id));
    const wanted = BOUNDARIES.flatMap(({ letter, count }) =>
      Array.from({ length: count }, (_, n) => `${letter}${n + 1}`),
    );
    expect(ids).toEqual(wanted);
    expect(ids).toHaveLength(97);
  });

  it("stands beside a list of threats whose tests exist", () => {
    const files = THREATS.flatMap(({ tests }) => tests);
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("looks for more than 250 pieces of text in the tests", () => {
    const said = BOUNDARIES.flatMap(({ rows }) => rows.flatMap(({ shown }) => shown.flatMap(([, , ...says]) => says)));
    expect(said.length).toBeGreaterThan(250);
  });

  it("has a condition of no test that no row names", () => {
    const named = BOUNDARIES.flatMap(({ rows }) => rows.flatMap(({ shown }) => shown));
    const isNamed = ({ file, title }: (typeof CONDITIONAL)[number]) =>
      named.some((shown) => shown[0] === file && shown[1] === title);
    expect(CONDITIONAL.filter((each) => !isNamed(each))).toEqual([]);
  });

  it.each(BOUNDARIES.flatMap(({ rows }) => rows.map((row) => [row.id, row] as const)))(
    "%s is shown by tests that are there and say what it asks for",
    (_, { shown }) => {
      for (const [file, title, ...says] of shown) {
        const titled = cases(file).filter(({ titles }) => titles.some((text) => text.includes(title)));
        expect(titled.length, `${FILES[file]} has a test "${title}"`).toBeGreaterThan(0);
        const lacking = titled.map(({ source }) => says.filter((word) => !source.includes(word)));
        const least = lacking.toSorted((a, b) => a.length - b.length)[0];
        expect(least, `what "${title}" of ${FILES[file]} does not say`).toEqual([]);
        const isSkipped = titled.every(({ isConditional }) => isConditional);
        expect(conditionOf(file, title) !== null, `"${title}" of ${FILES[file]} is skipped somewhere`).toBe(isSkipped);
      }
    },
  );
});
