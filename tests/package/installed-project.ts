// Projects outside of the clone that have Tessera installed as a user has it: packed, and installed by npm.
//
//   const { directory, env } = await installedProject();
//   execFileSync("npx", ["tessera", "--version"], { cwd: directory, env });
//   const { directory, env } = await installedProject(NODE_OLDEST); // installed by that Node, and run by it
//
// A file that uses it belongs to a test project with `globalSetup: [..., "tests/package/global-setup.ts"]` (vitest.config.ts).
// All is removed when the run ends. In `env` there is npm, a Node and the reader's HOME, and nothing of the clone: npm finds the
// packed packages by their names, so `npm install @tessera/tessera` works in any directory as it will once they are published.
//
//   I1. The packages are packed and installed once for all files of a run; a project is a copy whose files are hard links. What
//       npm does to one is not seen in another; a test must not write into the files of node_modules itself.
//   I2. The Node of `env` is this run's, or one from the npm registry, under a path outside of the clone.
//   I3. npm has the reader's settings, and ours for the scope, by a file: a variable `npm_config_@scope:registry` is lost in a
//       shell, because it is no name there.
//   I4. npm takes what it fetched before from the reader's cache; what npx has installed is the run's own, or it would start
//       packages of an earlier run, whose versions are the same.

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { PACKAGES } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit/wait-for";
import { inject } from "vitest";
import { buildPackages } from "../../scripts/release/build.ts";
import { type PackedPackage, packPackages } from "../../scripts/release/pack.ts";
import { ROOT } from "../../scripts/release/workspace.ts";
import { type Published, publishedFile } from "./registry.ts";

export interface InstalledProject {
  /** Holds package.json and node_modules. */
  readonly directory: string;
  readonly env: Record<string, string>;
}

/** The oldest Node that the packages say they run with, and one that is too old for them. */
export const NODE_OLDEST = "22.18.0";
export const NODE_TOO_OLD = "20.20.2";

/** What else the projects have: of the registry, for their tools. */
const BESIDES = ["@types/node@24", "slugify@1.6.9", "typescript@7.0.2", "zod@4.6.7"];
/** In a project: what npm complained of. */
export const INSTALL_LOG = "install.log";
const PACKED = "packed.json";
const SETUP_MS_MAX = 300_000;
/** What npm, Vitest and this repository's tests say to their own processes. */
const OF_THIS_RUN = /^(?:npm_|init_cwd|node_(?!extra_ca_certs)|vitest|test$|tessera_(?!cache_dir))/i;
/** npm takes what it has fetched before; nothing is asked that is not needed here. */
const INSTALL = ["install", "--prefer-offline", "--no-audit", "--no-fund"];

export async function installedProject(node: string = process.versions.node): Promise<InstalledProject> {
  const env = await userEnvironment(await nodeOf(node));
  const { base } = inject("installation");
  const template = join(base, `template-${node}`);
  await once(basename(template), () => {
    mkdirSync(template);
    writeFileSync(join(template, "package.json"), `${JSON.stringify({ private: true, type: "module" })}\n`);
    const names = [PACKAGES.main, PACKAGES.tool, PACKAGES.client, ...BESIDES];
    const said = spawnSync("npm", [...INSTALL, ...names], { cwd: template, env, encoding: "utf8" });
    if (said.status !== 0) throw new Error(`npm install ended with ${said.status}: ${said.stderr}`);
    writeFileSync(join(template, INSTALL_LOG), said.stderr);
  });
  const directory = mkdtempSync(join(base, "project-"));
  linkTree(template, directory);
  return { directory, env };
}

/** The program of that version of Node: this run's, or one from the npm registry. */
export async function nodeOf(version: string): Promise<string> {
  if (version === process.versions.node) return process.execPath;
  const { base } = inject("installation");
  const home = join(base, `node-${version}`);
  const name = `node-${process.platform}-${process.arch}`;
  await once(basename(home), () => {
    mkdirSync(home);
    execFileSync("npm", [...INSTALL, "--ignore-scripts", `${name}@${version}`], { cwd: home, stdio: "ignore" });
  });
  return join(home, "node_modules", name, "bin/node");
}

/** The packages as they were built and packed. */
export async function packedPackages(): Promise<readonly PackedPackage[]> {
  await published();
  return JSON.parse(readFileSync(join(inject("installation").base, PACKED), "utf8")) as PackedPackage[];
}

/** An empty directory outside of the clone, for what a user begins with. */
export function emptyDirectory(): string {
  return mkdtempSync(join(inject("installation").base, "empty-"));
}

/** The environment of a user who has npm and this Node, and for whom the packages are published. */
export async function userEnvironment(node: string = process.execPath): Promise<Record<string, string>> {
  const { base, registry } = inject("installation");
  await published();
  const bin = join(base, `bin-${createHash("sha256").update(node).digest("hex").slice(0, 8)}`);
  await once(basename(bin), () => {
    mkdirSync(bin);
    linkOrCopy(node, join(bin, "node")); // I2
  });
  const path = (process.env.PATH ?? "").split(delimiter).filter((each) => !each.startsWith(ROOT));
  const kept = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || OF_THIS_RUN.test(name) ? [] : [[name, value] as const],
  );
  return {
    ...Object.fromEntries(kept),
    PATH: [bin, ...path].join(delimiter),
    npm_config_userconfig: await settingsOf(registry), // I3
    npm_config_cache: await cacheOfRun(), // I4
    npm_config_prefer_offline: "true",
    npm_config_update_notifier: "false",
  };
}

/** I4 */
async function cacheOfRun(): Promise<string> {
  const path = join(inject("installation").base, "npm-cache");
  await once(basename(path), () => {
    const own = execFileSync("npm", ["config", "get", "cache"], { encoding: "utf8" }).trim();
    const fetched = join(own, "_cacache");
    mkdirSync(fetched, { recursive: true });
    mkdirSync(path);
    symlinkSync(fetched, join(path, "_cacache"));
  });
  return path;
}

/** I3 */
async function settingsOf(registry: string): Promise<string> {
  const path = join(inject("installation").base, "npmrc");
  await once(basename(path), () => {
    const own = process.env.npm_config_userconfig ?? join(homedir(), ".npmrc");
    const kept = existsSync(own) ? readFileSync(own, "utf8") : "";
    const scope = PACKAGES.main.split("/")[0];
    writeFileSync(path, `${kept.trimEnd()}\n${scope}:registry=${registry}\n`, { mode: 0o600 });
  });
  return path;
}

async function published(): Promise<void> {
  const { base } = inject("installation");
  await once("published", async () => await publish(base));
}

async function publish(base: string): Promise<void> {
  const packed = packPackages(await buildPackages(join(base, "built")), base);
  writeFileSync(join(base, PACKED), JSON.stringify(packed));
  for (const { plan, directory, tarball } of packed) {
    const manifest = JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Published["manifest"];
    const integrity = `sha512-${createHash("sha512").update(readFileSync(tarball)).digest("base64")}`;
    const published: Published = { manifest, tarball: basename(tarball), integrity };
    writeFileSync(publishedFile(base, plan.name), JSON.stringify(published));
  }
}

/** Does it in the first process of the run that comes here; the others wait for it (I1). */
async function once(name: string, work: () => void | Promise<void>): Promise<void> {
  const { base } = inject("installation");
  const [begun, done, failed] = ["begun", "done", "failed"].map((mark) => join(base, `${name}.${mark}`)) as [
    string,
    string,
    string,
  ];
  try {
    closeSync(openSync(begun, "wx"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    const isOver = () => existsSync(done) || existsSync(failed);
    await waitFor(isOver, { what: `another test file to have ${name} ready`, timeoutMs: SETUP_MS_MAX });
    if (existsSync(failed)) throw new Error(`${name} failed in another test file: ${readFileSync(failed, "utf8")}`);
    return;
  }
  try {
    await work();
  } catch (error) {
    writeFileSync(failed, String(error));
    throw error;
  }
  writeFileSync(done, "");
}

function linkTree(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      mkdirSync(target);
      linkTree(source, target);
    } else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else if (from.includes("node_modules")) linkSync(source, target);
    else copyFileSync(source, target); // the project's own files are its own to change
  }
}

/** Another file system has no hard links to this one. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    copyFileSync(from, to);
  }
}
