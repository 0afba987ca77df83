// What an editor shows of the packages: every name that people import has a comment, and its examples compile.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { type ApiComment, apiComments, examplesOf, mistakeOf } from "./api-comments.ts";

const ROOT = join(import.meta.dirname, "..");
const TIME_LIMIT_MS = 120_000;
const directory = mkdtempSync(join(tmpdir(), "tessera-api-comments-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let found: ApiComment[] | undefined;
const comments = () => {
  found ??= apiComments();
  return found;
};

it(
  "every exported name, and each of its fields, has a comment that stands on its own",
  () => {
    expect(comments().length).toBeGreaterThan(500);
    expect(comments().flatMap((comment) => mistakeOf(comment) ?? [])).toEqual([]);
  },
  TIME_LIMIT_MS,
);

it(
  "the examples in comments compile, strictly",
  () => {
    const examples = examplesOf(comments());
    const names = new Set(examples.map(({ name }) => name));
    for (const name of ["createTessera", "defineTool", "createClient", "TesseraError", "ApiError", "Tessera.run"]) {
      expect(names).toContain(name);
    }
    examples.forEach(({ name, code }, n) => {
      write(`example-${n}-${name.replaceAll(/\W/g, "-")}.ts`, `${code}export {};\n`);
    });
    expect(typeErrors()).toBe("");
  },
  TIME_LIMIT_MS,
);

it(
  "a name or a field without a comment is found, also one that is inherited",
  () => {
    const lacking = apiComments(["scripts/fixtures/uncommented.ts"]).flatMap((comment) => mistakeOf(comment) ?? []);
    expect(lacking.map((mistake) => mistake.replace(/^\S+ /, ""))).toEqual(
      ["Options", "Options.plain", "Options.inherited", "Kind.why", "LIMIT", "open", "Thing.stop"].map(
        (name) => `${name} has no doc comment`,
      ),
    );
  },
  TIME_LIMIT_MS,
);

/** In two words: the mark itself is not to be found in sources. */
const DESIGN = ["design", "§"].join(" ");

it("a mark of our sources in a comment is found", () => {
  const lacking: ApiComment[] = [
    { name: "a", at: "x.ts:1", text: null },
    { name: "b", at: "x.ts:2", text: "/** Waits (W1). */" },
    { name: "c", at: "x.ts:3", text: "/**\n * T2: is frozen.\n */" },
    { name: "d", at: "x.ts:4", text: `/** As ${DESIGN}4 has it. */` },
    { name: "e", at: "x.ts:5", text: "/** An RFC 9457 problem of HTTP (D1X). */" },
  ];
  expect(lacking.flatMap((comment) => mistakeOf(comment) ?? [])).toEqual([
    "x.ts:1 a has no doc comment",
    "x.ts:2 b: (W1) means nothing outside of our sources",
    "x.ts:3 c: T2 means nothing outside of our sources",
    `x.ts:4 d: ${DESIGN} means nothing outside of our sources`,
  ]);
});

function write(path: string, text: string): void {
  const file = join(directory, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

function typeErrors(): string {
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  write("package.json", JSON.stringify({ type: "module" }));
  const compilerOptions = { types: ["node"], noUnusedLocals: true };
  write(
    "tsconfig.json",
    JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, include: ["*.ts"], exclude: [] }),
  );
  try {
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", directory, "--noEmit"], { encoding: "utf8" });
    return "";
  } catch (error) {
    return (error as { readonly stdout: string }).stdout;
  }
}
