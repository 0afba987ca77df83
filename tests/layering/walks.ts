// The walks of ARCHITECTURE.md as data: which function of which file each step names, and the counts below them.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface Step {
  readonly number: number;
  readonly file: string;
  /** Without the schema, for a function of SQL. */
  readonly name: string;
  /** Begins with each process, because nothing is crossed between two. */
  readonly part: number;
}

export interface Walk {
  readonly title: string;
  readonly steps: readonly Step[];
  readonly counts: { readonly functions: number; readonly files: number; readonly crossings: number } | null;
}

const ARCHITECTURE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");

/** What stands below a heading, up to the next one of its level or a higher one. */
function section(heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const start = ARCHITECTURE.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`ARCHITECTURE.md has no heading ${heading}`);
  const text = ARCHITECTURE.slice(start + heading.length + 2);
  const end = text.search(new RegExp(`^#{1,${level}} `, "m"));
  return end < 0 ? text : text.slice(0, end);
}

export function walks(): Walk[] {
  return section("## Walks")
    .split(/^### /m)
    .slice(1)
    .map((text) => {
      const [title = ""] = text.split("\n", 1);
      return { title, steps: stepsOf(text), counts: countsOf(text) };
    });
}

function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  let part = 0;
  let isList = false;
  for (const line of text.split("\n")) {
    const [, number, file, name] = /^(\d+)\. `(packages\/\S+)` `(?:l0\.)?(\w+)`: \S/.exec(line) ?? [];
    if (number === undefined || file === undefined || name === undefined) {
      if (line !== "") isList = false;
      if (/^\d+\./.test(line)) throw new Error(`not a step: ${line}`);
      continue;
    }
    if (!isList) part += 1;
    isList = true;
    steps.push({ number: Number(number), file, name, part });
  }
  return steps;
}

function countsOf(text: string): Walk["counts"] {
  const [, functions, files, crossings] = /^\*\*(\d+) functions, (\d+) files, (\d+) crossings\.\*\*/m.exec(text) ?? [];
  if (functions === undefined) return null;
  return { functions: Number(functions), files: Number(files), crossings: Number(crossings) };
}

export interface OptionalPart {
  readonly name: string;
  readonly core: readonly string[];
  /** A folder or a file. */
  readonly loaded: string;
}

/** The table of what hangs on the core. */
export function optionalParts(): OptionalPart[] {
  const paths = (cell: string) => [...cell.matchAll(/`(packages\/[^`]+)`/g)].map(([, path = ""]) => path);
  return section("### The core, and what hangs on it")
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .slice(2)
    .map((line) => {
      const [, name = "", core = "", loaded = ""] = line.split("|");
      return { name: name.trim(), core: paths(core), loaded: paths(loaded)[0] ?? "" };
    });
}
