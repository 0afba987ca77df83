// The tarballs as a new user looks at them before installing: what they hold, what they say of themselves, how large they are.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { checkPackage, createPackageFromTarballData, type ResolutionKind } from "@arethetypeswrong/core";
import { VERSION } from "@tessera/protocol";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { beforeAll, describe, expect, it } from "vitest";
import type { PackedPackage } from "../../scripts/release/pack.ts";
import { PUBLISHED } from "../../scripts/release/packages.ts";
import { ROOT } from "../../scripts/release/workspace.ts";
import { packedPackages } from "./installed-project.ts";

const SLOW_MS = 300_000;
/** Packages are ES modules: `require` loads them in every Node they run with, where TypeScript calls it an import; and Node 10's
 *  resolution knows no `exports`. */
const NOT_OURS: readonly ResolutionKind[] = ["node10", "node16-cjs"];
/** What a user looks for, by the package's folder. */
const TRAVELS: Readonly<Record<string, readonly string[]>> = {
  client: [],
  tool: ["protocol/schema/card.json"],
  tessera: [
    "CHANGELOG.md",
    "cli/templates/minimal/tessera.yaml",
    "deploy/compose.yaml",
    "deploy/roles.sql",
    "docs/README.md",
    "docs/guides/write-a-tool.md",
    "docs/reference/cli.md",
    "docs/reference/openapi.json",
    "kernel/sql/migrations",
  ],
};
const TEST = /(?:^|\/)(?:test|tests|__tests__|fixtures)\/|\.(?:test|bench|fixture)\./;

interface Mapping {
  readonly sources: readonly string[];
  readonly sourceRoot?: string;
}

describe.each(PUBLISHED.map((plan) => [plan.name, plan] as const))("%s", (name, plan) => {
  let packed: PackedPackage;
  let files: readonly string[];
  const text = (file: string) => readFileSync(join(packed.directory, file), "utf8");
  const has = (file: string) => existsSync(join(packed.directory, file));

  beforeAll(async () => {
    packed = (await packedPackages()).find((each) => each.plan.name === name) as PackedPackage;
    files = readdirSync(packed.directory, { recursive: true, encoding: "utf8" }).filter((file) =>
      statSync(join(packed.directory, file)).isFile(),
    );
  }, SLOW_MS);

  it(
    "has nothing that publint would say, suggestions included",
    async () => {
      const content = readFileSync(packed.tarball);
      const tarball = content.buffer.slice(content.byteOffset, content.byteOffset + content.byteLength) as ArrayBuffer;
      const { messages } = await publint({ pack: { tarball }, strict: true });
      const manifest = JSON.parse(text("package.json"));
      expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
    },
    SLOW_MS,
  );

  it(
    "has types at every entry point that are those of its code",
    async () => {
      const said = await checkPackage(createPackageFromTarballData(readFileSync(packed.tarball)));
      if (said.types === false) throw new Error(`${name} has no types`);
      const problems = said.problems.filter((problem) => {
        if (!("resolutionKind" in problem)) return true;
        return !(
          NOT_OURS.includes(problem.resolutionKind) && ["NoResolution", "CJSResolvesToESM"].includes(problem.kind)
        );
      });
      expect(problems).toEqual([]);
      expect(Object.keys(said.entrypoints).toSorted()).toEqual(
        [...Object.keys(plan.exports), "./package.json"].toSorted(),
      );
    },
    SLOW_MS,
  );

  it("is as large as it may be, and no larger", () => {
    const kilobytes = { packed: packed.packedBytes / 1_000, unpacked: packed.unpackedBytes / 1_000 };
    console.log(`${name}: ${kilobytes.packed.toFixed()} kB packed, ${kilobytes.unpacked.toFixed()} kB unpacked`);
    expect(kilobytes.packed).toBeLessThanOrEqual(plan.packedKbMax);
    expect(kilobytes.unpacked).toBeLessThanOrEqual(plan.unpackedKbMax);
    expect(packed.fileCount).toBe(files.length); // nothing is left behind by npm
  });

  it("says who made it, under which license, where it comes from and with which Node it runs", () => {
    const manifest = JSON.parse(text("package.json"));
    expect(manifest).toMatchObject({
      name,
      version: VERSION,
      type: "module",
      license: "Apache-2.0",
      engines: { node: ">=22.18" },
      publishConfig: { access: "public" },
      repository: { type: "git", directory: `packages/${plan.described}` },
    });
    for (const url of [manifest.homepage, manifest.bugs, manifest.repository.url.replace("git+", "")]) {
      expect(new URL(url).protocol).toBe("https:");
    }
    for (const field of ["private", "scripts", "devDependencies", "workspaces"])
      expect(manifest).not.toHaveProperty(field);
    expect(text("LICENSE")).toBe(readFileSync(join(ROOT, "LICENSE"), "utf8"));
    expect(text("README.md").length).toBeGreaterThan(300);
  });

  it("exports types and code of each subpath, types first, and starts its commands by a line for the shell", () => {
    const { exports, bin = {} } = JSON.parse(text("package.json"));
    for (const subpath of Object.keys(plan.exports)) {
      expect(Object.keys(exports[subpath])).toEqual(["types", "default"]);
      for (const target of Object.values<string>(exports[subpath])) expect(has(target), target).toBe(true);
    }
    expect(Object.keys(bin)).toEqual(Object.keys(plan.bin ?? {}));
    for (const file of Object.values<string>(bin)) expect(text(file)).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it("has the documents, schemas and files that travel with it, no test, and no path of the machine that made it", () => {
    for (const file of TRAVELS[plan.described] ?? []) expect(has(file), file).toBe(true);
    expect(files.filter((file) => TEST.test(file))).toEqual([]);
    const stray = [ROOT, dirname(packed.tarball), homedir()].filter(
      (path) => path.split("/").length > 2 || path === "/root",
    );
    const telling = files.filter((file) => stray.some((path) => text(file).includes(`${path}/`)));
    expect(telling).toEqual([]);
  });

  it("has a map for each file of code and declarations, which leads to a source that is there", () => {
    const compiled = files.filter((file) => /\/lib\/.*\.(?:js|d\.ts)$/.test(file));
    expect(compiled.length).toBeGreaterThan(0);
    const lost = compiled.filter((file) => {
      const { sources } = JSON.parse(text(`${file}.map`)) as Mapping;
      const named = /\n\/\/# sourceMappingURL=(.*)\s*$/.exec(text(file))?.[1];
      return !text(file).includes(named ?? "none") || !sources.every((source) => has(join(dirname(file), source)));
    });
    expect(lost).toEqual([]);
    const sources = new Set(compiled.flatMap((file) => sourcesOf(file)));
    expect(files.filter((file) => /\/src\/.*\.ts$/.test(file) && !sources.has(file))).toEqual([]);
  });

  it("links in its documents only what it holds, or an address", () => {
    const broken = files
      .filter((file) => file.endsWith(".md"))
      .flatMap((file) =>
        [...text(file).matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)]
          .map(([, path = ""]) => join(dirname(file), path))
          .filter((target) => !has(target))
          .map((target) => `${file}: ${relative(".", target)}`),
      );
    expect(broken).toEqual([]);
  });

  function sourcesOf(file: string): string[] {
    const { sources } = JSON.parse(text(`${file}.map`)) as Mapping;
    return sources.map((source) => join(dirname(file), source));
  }
});
