// The packages of the workspace, as their manifests say what they are: what of them can be imported, and what they need.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly keywords?: readonly string[];
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** What the packages have in common, said once, in the manifest of the repository. */
export interface Project {
  readonly repository: { readonly type: string; readonly url: string };
  readonly homepage: string;
  readonly bugs: string;
}

/** A module of the workspace: `kernel/src/ports`, of packages/kernel/src/ports.ts. */
export type ModuleName = string;

export interface Workspace {
  /** By the folder under packages/. */
  readonly manifests: ReadonlyMap<string, Manifest>;
  /** By what sources write to import them. */
  readonly modules: ReadonlyMap<string, ModuleName>;
}

export function readWorkspace(): Workspace {
  const folders = readdirSync(join(ROOT, "packages"));
  const manifests = new Map(folders.map((folder) => [folder, readManifest(folder)]));
  const modules = new Map<string, ModuleName>();
  for (const [folder, { name, exports }] of manifests) {
    for (const [subpath, file] of Object.entries(exports)) {
      modules.set(name + subpath.slice(1), `${folder}/${withoutEnding(file.slice("./".length))}`);
    }
  }
  return { manifests, modules };
}

export function readProject(): Project {
  return JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Project;
}

export function withoutEnding(file: string): string {
  return file.replace(/(?:\.d)?\.[jt]s$/, "");
}

/** The package that an import of it names. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, "packages", folder, "package.json"), "utf8")) as Manifest;
}
