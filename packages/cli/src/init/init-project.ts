// What `tessera init` writes of a project besides its template: package.json and .gitignore, or what is missing in those that
// are there.
//
//   P1. What a person wrote stays: a dependency, a script, a line. Only what npm itself puts into a new package is replaced.

import { isJsonObject, type JsonObject, PACKAGES, VERSION } from "@tessera/protocol";

const DEPENDENCIES: JsonObject = { [PACKAGES.main]: `^${VERSION}` };
/** As this repository's own; a test compares. */
export const DEV_DEPENDENCIES: Readonly<Record<string, string>> = { "@types/node": "^24.0.0", typescript: "^7.0.2" };
const SCRIPTS: Readonly<Record<string, string>> = {
  dev: "tessera dev . --data ./store",
  test: "node --test",
  check: "tessera validate . && tsc",
};
/** What `npm init` writes where there is no test. */
const NO_TEST = /^echo "Error: no test specified"/;

export interface PackageFile {
  readonly text: string;
  /** The scripts of the same name that were there and do something else. */
  readonly keptScripts: readonly string[];
  /** Whether something has to be installed. */
  readonly isIncomplete: boolean;
  /** Whether its `.js` and `.ts` files were something else before. */
  readonly isNowModule: boolean;
}

export function newPackage(directoryName: string): string {
  const manifest = {
    name: packageName(directoryName),
    private: true,
    type: "module",
    scripts: SCRIPTS,
    dependencies: DEPENDENCIES,
    devDependencies: DEV_DEPENDENCIES,
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Null: it is no package.json. `isNew`: nothing in the project depends on what its modules are. */
export function completedPackage(text: string, isNew: boolean): PackageFile | null {
  const manifest = parsed(text);
  if (manifest === null) return null;
  const scripts = { ...SCRIPTS, ...mappingOf(manifest.scripts) };
  if (NO_TEST.test(String(scripts.test))) scripts.test = SCRIPTS.test ?? "";
  const [dependencies, devDependencies] = [mappingOf(manifest.dependencies), mappingOf(manifest.devDependencies)];
  const isThere = (name: string): boolean => name in dependencies || name in devDependencies;
  const missing = (wanted: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(wanted).filter(([name]) => !isThere(name)));
  const [added, addedDev] = [missing(DEPENDENCIES), missing(DEV_DEPENDENCIES)];
  const completed = {
    ...manifest,
    ...(isNew ? { type: "module" } : {}),
    scripts,
    dependencies: sorted({ ...dependencies, ...added }),
    devDependencies: sorted({ ...devDependencies, ...addedDev }),
  };
  const indent = /^\{\r?\n([ \t]+)/.exec(text)?.[1] ?? "  ";
  return {
    text: `${JSON.stringify(completed, null, indent)}\n`,
    keptScripts: Object.keys(SCRIPTS).filter((name) => scripts[name] !== SCRIPTS[name]),
    isIncomplete: Object.keys(added).length + Object.keys(addedDev).length > 0,
    isNowModule: isNew && manifest.type !== "module",
  };
}

/** Whether `.ts` files of the package are ES modules. */
export function isModulePackage(text: string): boolean {
  return parsed(text)?.type === "module";
}

export function completedIgnore(there: string, wanted: string): string {
  const lines = there.split(/\r?\n/);
  const missing = wanted.split("\n").filter((line) => line !== "" && !lines.includes(line));
  if (missing.length === 0) return there;
  return `${there}${there === "" || there.endsWith("\n") ? "" : "\n"}${missing.join("\n")}\n`;
}

/** A name that npm takes. */
function packageName(directoryName: string): string {
  const name = directoryName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, "-")
    .replace(/^[._-]+/, "")
    .replace(/-+$/, "")
    .slice(0, 200);
  return name === "" || name in DEV_DEPENDENCIES || name === "node_modules" ? "tessera-project" : name;
}

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function mappingOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function sorted(mapping: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(mapping).sort(([one], [other]) => (one < other ? -1 : 1)));
}
