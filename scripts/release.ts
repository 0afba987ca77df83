// npm run release -- 0.2.0: makes a release in this clone, as a commit and a tag. Nothing leaves the machine: how to publish it is
// printed, for a person to do.
//
//   R1. It begins in a clean work tree, so that the commit holds the release and nothing else, and a failure can be taken back.
//   R2. A version is released once, and is newer than the one before.
//   R3. Packages name the repository that they come from; as long as package.json names an example, there is no release.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { VERSION } from "@tessera/protocol";
import { entriesOf, withRelease } from "./release/changelog.ts";
import { tarballOf } from "./release/pack.ts";
import { PUBLISHED } from "./release/packages.ts";
import { isNewer, writeVersion } from "./release/versions.ts";
import { ROOT, readProject } from "./release/workspace.ts";

const CHANGELOG = join(ROOT, "CHANGELOG.md");
const TARBALLS = relative(process.cwd(), join(ROOT, "dist/tarballs"));

class Refused extends Error {}

try {
  release(process.argv[2] ?? "");
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 2;
}

function release(version: string): void {
  const tag = `v${version}`;
  expectReleasable(version, tag);
  try {
    writeFileSync(CHANGELOG, releasedChangelog(version));
    writeVersion(version, VERSION);
    // What is generated names the version, too. A process of its own: this one has the former version loaded.
    execFileSync(process.execPath, [join(ROOT, "scripts/generate.ts")], { cwd: ROOT, stdio: "inherit" });
    git("commit", "--quiet", "--all", "--message", `Release ${version}`);
  } catch (error) {
    git("reset", "--quiet", "--hard"); // R1
    throw error;
  }
  const entries = entriesOf(readFileSync(CHANGELOG, "utf8"), version) ?? "";
  git("tag", "--annotate", "--cleanup=verbatim", tag, "--message", `Tessera ${version}\n\n${entries}\n`);
  console.log(nextSteps(version, tag));
}

function expectReleasable(version: string, tag: string): void {
  if (!/^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}$/.test(version)) {
    throw new Refused(`say which version, as in: npm run release -- 0.2.0${version === "" ? "" : `, not ${version}`}`);
  }
  if (!isNewer(version, VERSION)) throw new Refused(`this is ${VERSION}; ${version} is not newer`); // R2
  if (git("tag", "--list", tag) !== "") throw new Refused(`the tag ${tag} exists`); // R2
  const { url } = readProject().repository;
  if (new URL(url).hostname.endsWith(".example")) {
    throw new Refused(`package.json names ${url} as the repository, which is an example: put the address there first`); // R3
  }
  const changed = git("status", "--porcelain");
  if (changed !== "") throw new Refused(`the work tree is not clean; commit first what is in it:\n${changed}`); // R1
}

function releasedChangelog(version: string): string {
  const today = new Date().toISOString().slice(0, "2026-11-16".length);
  try {
    return withRelease(readFileSync(CHANGELOG, "utf8"), version, today);
  } catch (error) {
    throw new Refused((error as Error).message);
  }
}

function nextSteps(version: string, tag: string): string {
  const publish = PUBLISHED.map(({ name }) => `  npm publish ./${join(TARBALLS, tarballOf(name, version))}`);
  return [
    `${version} is committed and tagged as ${tag}, in this clone only. To take it back:`,
    `  git tag --delete ${tag} && git reset --hard HEAD~1`,
    "",
    "To publish it, once the tests have passed:",
    `  npm test`,
    `  git push origin HEAD ${tag}`,
    "  npm run pack",
    ...publish,
    "",
    "Then keep a store of it for the tests of upgrades, and commit that:",
    `  node tests/upgrade/write-stores.ts ${version}`,
  ].join("\n");
}

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}
