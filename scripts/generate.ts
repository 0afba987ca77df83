// Writes every generated file of the repository; with `--check` compares instead and exits 1 naming the stale ones.
//
//   G1. A generated file is a pure function of the sources: no time, no machine, no order of a directory listing. One file
//       counts, and so depends on its own past as well (generators/functions-log.ts).
//   G2. A generated Markdown or TypeScript file and the log say so in their first line. JSON cannot; it is docs/reference/openapi.json, or lives
//       in a folder that holds nothing else.
//
// To add one: write a file in scripts/generators and append it to GENERATED.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { apiClient, apiDocument } from "./generators/api-document.ts";
import { cliReference } from "./generators/cli-reference.ts";
import { configurationReference } from "./generators/configuration-reference.ts";
import { errorReference } from "./generators/error-reference.ts";
import { functionsLog } from "./generators/functions-log.ts";
import type { Generator } from "./generators/generator.ts";
import { httpReference } from "./generators/http-reference.ts";
import { performanceReference } from "./generators/performance-reference.ts";
import { proofReference } from "./generators/proof-reference.ts";
import { securityReference } from "./generators/security-reference.ts";
import { stateReference } from "./generators/state-reference.ts";
import { wireSchemas } from "./generators/wire-schemas.ts";
import { yamlReference } from "./generators/yaml-reference.ts";
import { yamlSchema } from "./generators/yaml-schema.ts";

const GENERATED: readonly Generator[] = [
  functionsLog,
  wireSchemas,
  errorReference,
  stateReference,
  apiDocument,
  apiClient,
  httpReference,
  yamlReference,
  yamlSchema,
  configurationReference,
  cliReference,
  proofReference,
  securityReference,
  performanceReference,
];

const ROOT = join(import.meta.dirname, "..");

/** Paths that differ from what would be generated: missing, changed, or left over in a generator's folder. */
async function stalePaths(files: ReadonlyMap<string, string>, folder: string | undefined): Promise<string[]> {
  const stale = [...(await leftOver(files, folder))];
  for (const [path, content] of files) {
    if ((await readOrNull(join(ROOT, path))) !== content) stale.push(path);
  }
  return stale.sort();
}

async function leftOver(files: ReadonlyMap<string, string>, folder: string | undefined): Promise<string[]> {
  if (folder === undefined) return [];
  const names = await readdir(join(ROOT, folder)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  return names.map((name) => `${folder}/${name}`).filter((path) => !files.has(path));
}

async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function write(path: string, content: string | undefined): Promise<void> {
  const file = join(ROOT, path);
  if (content === undefined) return rm(file);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
}

const isCheck = process.argv.includes("--check");
let staleCount = 0;
for (const generator of GENERATED) {
  const files = await generator.files();
  for (const path of await stalePaths(files, generator.folder)) {
    staleCount++;
    if (!isCheck) await write(path, files.get(path));
    const verb = isCheck ? "stale" : files.has(path) ? "written" : "removed";
    process.stdout.write(`${verb}: ${path} (${generator.name})\n`);
  }
}
if (isCheck && staleCount > 0) {
  process.stdout.write("run `npm run generate` and commit the result\n");
  process.exitCode = 1;
}
