// Builds the packages that are published (packages.ts), from the sources to directories that npm can pack.
//
//   B1. The compiler makes one file of JavaScript, one of declarations and their maps of each source; nothing is bundled, so that
//       a stack names the file that its author knows.
//   B2. A package holds PART/lib with what was compiled, PART/src with the sources that the maps lead to, and the files that code
//       finds by its own place, where they are in the repository: PART/sql, PART/templates. Sources lie apart from declarations,
//       or TypeScript would read them instead and hold them to its user's settings.
//   B3. What is written is exact: imports name the file that is there, and a package's manifest names every package that it imports.
//   B4. Documents link what is in the package there, and the rest in the repository (links.ts).
//   B5. The store that new ones are copies of is made here and travels: to make it takes most of a first run.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dirname, relative } from "node:path/posix";
import { compressedSnapshot } from "@tessera/engines/pglite";
import { makePreparedStore, PREPARED_STORE_KEY } from "@tessera/runtime/prepared-store";
import { type Destination, withLinks } from "./links.ts";
import { type PackagePlan, PUBLISHED, SHARED } from "./packages.ts";
import { moduleOf, type Reach, reachOf } from "./reach.ts";
import { withSpecifiers } from "./specifiers.ts";
import { type Manifest, type ModuleName, ROOT, readProject, readWorkspace, type Workspace } from "./workspace.ts";

export interface BuiltPackage {
  readonly plan: PackagePlan;
  readonly version: string;
  readonly directory: string;
}

/** Leaves the packages in `out`, each in the folder that describes it in the workspace. */
export async function buildPackages(out: string): Promise<BuiltPackage[]> {
  const compiled = join(out, "compiled");
  rmSync(out, { recursive: true, force: true });
  compile(compiled);
  const workspace = readWorkspace();
  const built = PUBLISHED.map((plan, at) => {
    const reach = reachOf(plan, { workspace, compiled, others: PUBLISHED.slice(0, at) });
    return write(reach, { workspace, compiled, directory: join(out, plan.described) });
  });
  rmSync(compiled, { recursive: true });
  for (const { plan, directory } of built) if (plan.parts.includes("engines")) await addPreparedStore(directory);
  return built;
}

/** B1 */
function compile(compiled: string): void {
  const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", join(ROOT, "tsconfig.build.json"), "--outDir", compiled], {
    stdio: "inherit",
  });
  for (const module of PUBLISHED.flatMap(({ bin }) => Object.values(bin ?? {}))) {
    cpSync(join(ROOT, "packages", `${module}.js`), join(compiled, `${module}.js`));
  }
}

interface Place {
  readonly workspace: Workspace;
  readonly compiled: string;
  readonly directory: string;
}

function write(reach: Reach, place: Place): BuiltPackage {
  const { plan } = reach;
  for (const module of reach.code) writeCompiled(module, ".js", reach, place);
  for (const module of reach.declared) writeCompiled(module, ".d.ts", reach, place);
  for (const module of new Set([...reach.code, ...reach.declared])) {
    if (isSource(module)) copy(`packages/${module}.ts`, join(place.directory, `${module}.ts`));
  }
  const manifest = manifestOf(reach, place.workspace);
  const files = { ...plan.files, LICENSE: "LICENSE", [`packages/${plan.described}/README.md`]: "README.md" };
  for (const [from, to] of Object.entries(files)) copy(from, join(place.directory, to));
  linkDocuments(place.directory, { files, repository: addressOf(manifest.repository.url, manifest.version) });
  writeFileSync(join(place.directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return { plan, version: manifest.version, directory: place.directory };
}

/** B5 */
async function addPreparedStore(directory: string): Promise<void> {
  const { name, content } = await compressedSnapshot(PREPARED_STORE_KEY, await makePreparedStore());
  mkdirSync(join(directory, "engines/prepared"));
  writeFileSync(join(directory, "engines/prepared", name), content);
}

function writeCompiled(module: ModuleName, ending: ".js" | ".d.ts", reach: Reach, place: Place): void {
  const from = join(place.compiled, module + ending);
  const to = join(place.directory, builtPath(module) + ending);
  const rename = (specifier: string): string => {
    const next = moduleOf(specifier, module, place.workspace);
    if (next === null) return specifier;
    return reach.elsewhere.get(specifier) ?? relativePath(`${builtPath(module)}.js`, `${builtPath(next)}.js`);
  };
  mkdirSync(dirname(to), { recursive: true });
  writeFileSync(to, withSpecifiers(from, readFileSync(from, "utf8"), rename));
  if (!isSource(module)) return;
  const map: object = JSON.parse(readFileSync(`${from}.map`, "utf8"));
  const sources = [relativePath(builtPath(module), `${module}.ts`)];
  writeFileSync(`${to}.map`, JSON.stringify({ ...map, sources }));
}

/** B2. What is no source, as the file that starts the command, stays where it is. */
function builtPath(module: ModuleName): string {
  return module.replace(/^([^/]+)\/src\//, "$1/lib/");
}

function isSource(module: ModuleName): boolean {
  return module.includes("/src/");
}

function relativePath(from: string, to: string): string {
  const path = relative(dirname(from), to);
  return path.startsWith(".") ? path : `./${path}`;
}

/** B4 */
function linkDocuments(directory: string, destination: Destination): void {
  for (const [from, to] of Object.entries(destination.files)) {
    const path = join(directory, to);
    const below = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: "utf8" }) : [""];
    for (const name of below) {
      const [document, file] = [join(from, name), join(path, name)];
      if (document.endsWith(".md")) writeFileSync(file, withLinks(readFileSync(file, "utf8"), document, destination));
    }
  }
}

/** Where a browser finds the files of that version. */
function addressOf(repository: string, version: string): string {
  return `${repository.replace(/^git\+/, "").replace(/\.git$/, "")}/blob/v${version}`;
}

function copy(from: string, to: string): void {
  cpSync(join(ROOT, from), to, { recursive: true, filter: (path) => !path.includes("__pycache__") });
}

/** B3 */
function manifestOf({ plan, siblings }: Reach, workspace: Workspace) {
  const { manifests, modules } = workspace;
  const { version, description, license, engines, keywords } = manifests.get(plan.described) as Manifest;
  const targetsOf = (specifier: string) => {
    const path = `./${builtPath(modules.get(specifier) ?? "")}`;
    return { types: `${path}.d.ts`, default: `${path}.js` };
  };
  const { homepage, bugs, repository } = readProject();
  const exports = Object.entries(plan.exports).map(([subpath, specifier]) => [subpath, targetsOf(specifier)] as const);
  const bin = Object.entries(plan.bin ?? {}).map(([command, module]) => [command, `./${module}.js`] as const);
  return {
    name: plan.name,
    version,
    description,
    keywords,
    license,
    homepage,
    bugs,
    publishConfig: { access: "public" },
    repository: { ...repository, directory: `packages/${plan.described}` },
    type: "module",
    engines,
    ...(bin.length === 0 ? {} : { bin: Object.fromEntries(bin) }),
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    dependencies: {
      ...Object.fromEntries([...siblings].sort().map((name) => [name, version])),
      ...foreignDependencies(plan, workspace),
    },
  };
}

/** What the parts depend on besides one another: also what none of them imports, which is there for what they import. */
function foreignDependencies({ parts }: PackagePlan, { manifests }: Workspace): Record<string, string> {
  const own = new Set([...manifests.values()].map(({ name }) => name));
  const declared = parts.flatMap((part) => Object.entries(manifests.get(part)?.dependencies ?? {}));
  const foreign = declared.filter(([name]) => !own.has(name)).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(foreign.map(([name, exact]) => [name, SHARED[name] ?? exact]));
}
