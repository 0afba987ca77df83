// The files of the templates: directories beside the sources. Each is written with the files of `project`, which all of them have.
//
//   T1. Templates are written for a package of ES modules, with Tessera installed in it. Where that is not so, the names of files
//       change, in their texts, too.

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGES, SCHEMA_FILE, SCHEMA_FOLDER } from "@tessera/protocol";

export const TEMPLATES = {
  minimal: { about: "one agent with one tool", input: "hello world" },
  "multi-agent": { about: "a planner that gives its work to two others at once", input: "tea" },
  service: { about: "an agent whose tool runs in a program of your own, over HTTP", input: "a stitch in time" },
} as const;

export type TemplateName = keyof typeof TEMPLATES;

export interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

const TEMPLATES_DIRECTORY = fileURLToPath(new URL("../../templates/", import.meta.url));
/** A file that starts with a dot is kept without it: Git and npm would apply it here. */
const DOTTED: Readonly<Record<string, string>> = { gitignore: ".gitignore" };
/** A test of a project is kept under another ending: tools that look for tests would take it for one of ours. */
const KEPT_TEST = ".test-of-project.ts";
const SCHEMA = `node_modules/${PACKAGES.main}/${SCHEMA_FOLDER}/${SCHEMA_FILE}`;

/** The files of a template as they belong into `directory`, by path. */
export async function templateFiles(
  name: TemplateName,
  directory: string,
  { isModule }: { readonly isModule: boolean },
): Promise<readonly TemplateFile[]> {
  const files = [...(await filesIn("project")), ...(await filesIn(name))];
  const schema = schemaPath(directory);
  const adapted = files
    .map(({ path, text }) => ({ path, text: text.replaceAll(`$schema=./${SCHEMA}`, `$schema=${schema}`) }))
    .map((file) => (isModule ? file : withModuleNames(file)));
  return adapted.sort((one, other) => (one.path < other.path ? -1 : 1));
}

async function filesIn(folder: string): Promise<TemplateFile[]> {
  const from = join(TEMPLATES_DIRECTORY, folder);
  const entries = (await readdir(from, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  return await Promise.all(
    entries.map(async (entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(from, path);
      return { path: DOTTED[name] ?? name.replace(KEPT_TEST, ".test.ts"), text: await readFile(path, "utf8") };
    }),
  );
}

/** T1: `.mts` is an ES module whatever package it is in. */
function withModuleNames({ path, text }: TemplateFile): TemplateFile {
  const named = (words: string): string => words.replaceAll(/(?<=[\w/-])(\.test)?\.ts\b/g, "$1.mts");
  return { path: named(path), text: named(text) };
}

/** T1: a workspace's packages are installed at its root. */
function schemaPath(directory: string): string {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    if (existsSync(join(at, SCHEMA))) {
      const path = relative(directory, join(at, SCHEMA)).replaceAll("\\", "/");
      return path.startsWith(".") ? path : `./${path}`;
    }
  }
  return `./${SCHEMA}`;
}
