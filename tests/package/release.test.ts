// `npm run release` in a clone of what is here: what it writes, and when it refuses to.

import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "@tessera/protocol";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { entriesOf } from "../../scripts/release/changelog.ts";
import { PUBLISHED } from "../../scripts/release/packages.ts";
import { ROOT } from "../../scripts/release/workspace.ts";
import { emptyDirectory } from "./installed-project.ts";

const NEXT = VERSION.replace(/^\d+/, (major) => String(Number(major) + 1));
const NOT_CLONED = ["node_modules", "dist", "coverage", ".git", ".tessera", "store"];
const AUTHOR = { NAME: "A. Maintainer", EMAIL: "maintainer@tessera.test" };
const env = {
  ...process.env,
  ...Object.fromEntries(
    Object.entries(AUTHOR).flatMap(([what, who]) =>
      ["AUTHOR", "COMMITTER"].map((role) => [`GIT_${role}_${what}`, who]),
    ),
  ),
  GIT_CONFIG_GLOBAL: "/dev/null",
};

let clone = "";
const git = (...args: string[]) => execFileSync("git", args, { cwd: clone, env, encoding: "utf8" }).trim();
const read = (path: string) => readFileSync(join(clone, path), "utf8");

function release(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/release.ts", ...args], {
    cwd: clone,
    env,
    encoding: "utf8",
  });
  return { status, out: stdout, err: stderr };
}

beforeAll(() => {
  clone = emptyDirectory();
  for (const entry of readdirSync(ROOT)) {
    if (!NOT_CLONED.includes(entry)) cpSync(join(ROOT, entry), join(clone, entry), { recursive: true });
  }
  linkDependencies();
  const manifest = read("package.json").replaceAll("git.example", "git.tessera.test");
  writeFileSync(join(clone, "package.json"), manifest);
  git("init", "--quiet", "--initial-branch", "main");
  git("add", "--all");
  git("commit", "--quiet", "--message", "What is here");
  git("tag", "begun");
}, 120_000);

beforeEach(() => {
  git("reset", "--quiet", "--hard", "begun");
  git("clean", "--quiet", "--force");
  for (const tag of git("tag", "--list", "v*").split("\n").filter(Boolean)) git("tag", "--delete", tag);
});

/** The dependencies of this clone, and the workspace's packages of the other. */
function linkDependencies(): void {
  const modules = join(clone, "node_modules");
  mkdirSync(join(modules, "@tessera"), { recursive: true });
  for (const entry of readdirSync(join(ROOT, "node_modules"))) {
    if (entry !== "@tessera") symlinkSync(join(ROOT, "node_modules", entry), join(modules, entry));
  }
  for (const folder of readdirSync(join(ROOT, "packages"))) {
    symlinkSync(join("../../packages", folder), join(modules, "@tessera", folder));
  }
}

describe("npm run release", () => {
  it("commits and tags the version everywhere it is said, with what was unreleased, and publishes nothing", () => {
    const unreleased = entriesOf(read("CHANGELOG.md"), "Unreleased") ?? "";
    appendIfEmpty(unreleased);
    const entries = entriesOf(read("CHANGELOG.md"), "Unreleased");
    const { status, out, err } = release(NEXT);
    expect({ status, err }).toEqual({ status: 0, err: "" });

    expect(git("status", "--porcelain")).toBe("");
    expect(git("log", "-1", "--format=%s")).toBe(`Release ${NEXT}`);
    expect(git("rev-parse", `v${NEXT}^{commit}`)).toBe(git("rev-parse", "HEAD"));
    expect(git("tag", "--list", "--format=%(contents)", `v${NEXT}`)).toContain(entries?.split("\n").at(-1));

    expect(entriesOf(read("CHANGELOG.md"), "Unreleased")).toBe("");
    expect(entriesOf(read("CHANGELOG.md"), NEXT)).toBe(entries);
    expect(read("CHANGELOG.md")).toMatch(new RegExp(`^## ${NEXT.replaceAll(".", "\\.")} - \\d{4}-\\d\\d-\\d\\d$`, "m"));

    expect(run("packages/cli/bin/tessera.js", "--version")).toBe(`${NEXT}\n`);
    expect(JSON.parse(read("docs/reference/openapi.json")).info.version).toBe(NEXT);
    const folders = readdirSync(join(clone, "packages"));
    for (const folder of folders) {
      const { version, dependencies = {} } = JSON.parse(read(`packages/${folder}/package.json`));
      const own = Object.entries(dependencies).filter(([name]) => name.startsWith("@tessera/"));
      expect([folder, version, ...own.map(([, range]) => range)]).toEqual([folder, NEXT, ...own.map(() => NEXT)]);
    }
    for (const { name } of PUBLISHED) expect(out).toContain(`${name.slice(1).replace("/", "-")}-${NEXT}.tgz`);

    const lock = ["install", "--package-lock-only", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"];
    execFileSync("npm", lock, { cwd: clone, env, stdio: "pipe" });
    expect(git("diff", "--stat")).toBe(""); // the lock file is one that npm writes
  }, 120_000);

  it("refuses what is no version, one that is not newer, and one that has a tag", () => {
    expect(release()).toMatchObject({ status: 2, err: expect.stringContaining("say which version") });
    expect(release("next")).toMatchObject({ status: 2, err: expect.stringContaining("say which version") });
    expect(release(VERSION)).toMatchObject({ status: 2, err: expect.stringContaining("is not newer") });
    git("tag", `v${NEXT}`);
    expect(release(NEXT)).toMatchObject({ status: 2, err: expect.stringContaining(`the tag v${NEXT} exists`) });
    expect(git("rev-parse", "HEAD")).toBe(git("rev-parse", "begun"));
  }, 60_000);

  it("refuses a work tree with changes, and one with nothing to release", () => {
    appendFileSync(join(clone, "README.md"), "\nsomething\n");
    expect(release(NEXT)).toMatchObject({ status: 2, err: expect.stringContaining("M README.md") });
    git("checkout", "--quiet", "--", ".");
    writeFileSync(join(clone, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n");
    git("commit", "--quiet", "--all", "--message", "Nothing");
    expect(release(NEXT)).toMatchObject({ status: 2, err: expect.stringContaining("nothing is to be released") });
    expect(git("status", "--porcelain")).toBe("");
    expect(git("tag", "--list", "v*")).toBe("");
  }, 60_000);

  it("takes back what it wrote when a step fails", () => {
    appendIfEmpty(entriesOf(read("CHANGELOG.md"), "Unreleased") ?? "");
    writeFileSync(join(clone, "scripts/generate.ts"), "process.exitCode = 1;\n");
    git("commit", "--quiet", "--all", "--message", "A generator that fails");
    expect(release(NEXT).status).not.toBe(0);
    expect(git("status", "--porcelain")).toBe("");
    expect(git("tag", "--list", "v*")).toBe("");
    expect(git("log", "-1", "--format=%s")).toBe("A generator that fails");
  }, 60_000);

  it("refuses while packages would name an example as their repository", () => {
    writeFileSync(join(clone, "package.json"), read("package.json").replaceAll("git.tessera.test", "git.example"));
    git("commit", "--quiet", "--all", "--message", "An example");
    expect(release(NEXT)).toMatchObject({ status: 2, err: expect.stringContaining("which is an example") });
  }, 60_000);
});

/** Right after a release nothing is unreleased. */
function appendIfEmpty(unreleased: string): void {
  if (unreleased !== "") return;
  writeFileSync(
    join(clone, "CHANGELOG.md"),
    read("CHANGELOG.md").replace("## Unreleased\n", "## Unreleased\n\n### Fixed\n\n- Something.\n"),
  );
  git("commit", "--quiet", "--all", "--message", "Something");
}

function run(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: clone, env, encoding: "utf8" });
}
