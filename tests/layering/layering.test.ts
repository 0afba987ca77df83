// Walks every source file and compares its imports with scripts/layers.ts, so that no lint setting decides.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import {
  AMBIENT_ALLOWED,
  AMBIENT_SQL,
  LAYERS,
  LOADED_ON_USE,
  OUTPUT_ALLOWED,
  PORTS_ONLY,
} from "../../scripts/layers.ts";

const root = join(import.meta.dirname, "../..");
const packages = readdirSync(join(root, "packages"));

/** What is installed, built or a store, and templates, which are a user's files. */
const PASSED_OVER = /^(?:node_modules|dist|coverage|templates|\..+)$/;

interface Source {
  readonly path: string;
  readonly package: string;
  readonly text: string;
  readonly isTest: boolean;
}

function* walk(directory: string): Generator<string> {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (PASSED_OVER.test(entry.name)) continue;
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* walk(path);
    else if (/\.(ts|js|mjs)$/.test(entry.name)) yield path;
  }
}

const sources: Source[] = packages.flatMap((name) =>
  [...walk(join(root, "packages", name))].map((path) => ({
    path: relative(root, path),
    package: name,
    text: readFileSync(path, "utf8"),
    isTest: path.endsWith(".test.ts") || path.includes(`/${name}/test/`),
  })),
);

/** Without doc comments, whose examples are a user's programs (scripts/api-comments.test.ts compiles them). */
function importsOf(source: string): string[] {
  const text = source.replaceAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm, "");
  const pattern = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)["']([^"']+)["']/g;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}

/** Of modules that are loaded with their importer: neither types nor `import()`. */
function staticImportsOf(text: string): string[] {
  return [...text.matchAll(/^(?:import|export)\s(?!type\b)[^;]*?\bfrom\s*"([^"]+)"/gm)].map((match) => match[1] ?? "");
}

function layerOf(specifier: string): string | null {
  return /^@tessera\/([a-z]+)/.exec(specifier)?.[1] ?? null;
}

/** A folder with more has several rooms in it (CONTRIBUTING.md). */
const FILES_PER_FOLDER_MAX = 30;

it("no folder of sources has more files of its own than a reader looks through", () => {
  const folders = Map.groupBy(sources, ({ path }) => dirname(path));
  const crowded = [...folders].filter(([, files]) => files.length > FILES_PER_FOLDER_MAX);
  expect(crowded.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
});

describe("the layers", () => {
  it("know every package that exists", () => {
    expect(packages.filter((name) => LAYERS[name] === undefined)).toEqual([]);
  });

  it("find sources to hold", () => {
    expect(sources.length).toBeGreaterThan(50);
  });

  it("let a package import only what its row allows", () => {
    const broken = sources
      .filter((source) => !source.isTest)
      .flatMap((source) =>
        importsOf(source.text)
          .map(layerOf)
          .filter((layer) => layer !== null && layer !== source.package && !LAYERS[source.package]?.includes(layer))
          .map((layer) => `${source.path} imports ${layer}`),
      );
    expect(broken).toEqual([]);
  });

  it("let adapters see nothing of the kernel but its ports", () => {
    const broken = sources
      .filter((source) => !source.isTest && PORTS_ONLY[source.package] !== undefined)
      .flatMap((source) =>
        importsOf(source.text)
          .filter((specifier) => layerOf(specifier) === "kernel" && specifier !== PORTS_ONLY[source.package])
          .map((specifier) => `${source.path} imports ${specifier}`),
      );
    expect(broken).toEqual([]);
  });

  it("let no package reach into another package's sources", () => {
    const broken = sources.flatMap((source) =>
      importsOf(source.text)
        .filter(
          (specifier) =>
            /^@tessera\/[a-z]+\/(src|sql|test)\//.test(specifier) || /\.\.\/\.\.\/\.\.\/[a-z]+\/src/.test(specifier),
        )
        .map((specifier) => `${source.path} imports ${specifier}`),
    );
    expect(broken).toEqual([]);
  });

  it.each(LOADED_ON_USE)("load %s only where it is used, through its one module", (folder) => {
    const entry = join(folder, "index.ts");
    const broken = sources
      .filter(({ path, isTest }) => !isTest && (path === entry || !path.startsWith(`${folder}/`)))
      .flatMap(({ path, text }) =>
        staticImportsOf(text)
          .filter((specifier) => specifier.startsWith("."))
          .map((specifier) => join(dirname(path), specifier))
          .filter((target) => target !== entry && target.startsWith(`${folder}/`))
          .map((target) => `${path} imports ${target}`),
      );
    expect(broken).toEqual([]);
    const text = sources.find(({ path }) => path === entry)?.text ?? "";
    expect(importsOf(text).filter((specifier) => specifier.startsWith("./"))).not.toEqual([]);
  });

  it("have no cycle between packages", () => {
    const seen = new Set<string>();
    const path: string[] = [];
    const visit = (name: string): void => {
      if (path.includes(name)) throw new Error(`cycle: ${[...path, name].join(" → ")}`);
      if (seen.has(name)) return;
      path.push(name);
      for (const next of LAYERS[name] ?? []) visit(next);
      path.pop();
      seen.add(name);
    };
    for (const name of Object.keys(LAYERS)) visit(name);
    expect(seen.size).toBe(Object.keys(LAYERS).length);
  });

  it("declare in package.json what their sources import", () => {
    const broken = sources
      .filter((source) => !source.isTest)
      .flatMap((source) => {
        const manifest = JSON.parse(readFileSync(join(root, "packages", source.package, "package.json"), "utf8")) as {
          name: string;
          dependencies?: Record<string, string>;
          peerDependencies?: Record<string, string>;
        };
        const declared = new Set([
          manifest.name,
          ...Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }),
        ]);
        return importsOf(source.text)
          .filter((specifier) => /^[@a-z]/.test(specifier) && !specifier.startsWith("node:"))
          .map((specifier) =>
            specifier.startsWith("@") ? specifier.split("/").slice(0, 2).join("/") : (specifier.split("/")[0] ?? ""),
          )
          .filter((name) => !declared.has(name) && !(source.package === "testkit" && name === "vitest"))
          .map((name) => `${source.path} imports ${name}`);
      });
    expect(broken).toEqual([]);
  });

  it("keep clocks, timers, randomness and the environment in their places", () => {
    expect(misplaced(sources, AMBIENT_ALLOWED)).toEqual([]);
  });

  it("let no code print past the gate: neither commands, nor what they load, nor the quick start", () => {
    const started = [...walk(join(root, "examples/quickstart"))].map((path) => ({
      path: relative(root, path),
      package: "quickstart",
      text: readFileSync(path, "utf8"),
      isTest: false,
    }));
    expect(started.length).toBeGreaterThan(3);
    const printing = [...sources.filter((source) => source.package !== "testkit"), ...started];
    expect(misplaced(printing, OUTPUT_ALLOWED)).toEqual([]);
    const past = { path: "packages/cli/src/x.ts", package: "cli", isTest: false };
    for (const text of ['process.stdout.write("x")', 'console.log("x")', "const { log } = console", '"x" as Printed']) {
      expect(misplaced([{ ...past, text }], OUTPUT_ALLOWED)).toHaveLength(1);
    }
  });
});

function misplaced(held: readonly Source[], allowed: Readonly<Record<string, readonly string[]>>): string[] {
  return held
    .filter((source) => !source.isTest)
    .flatMap((source) => {
      const code = source.text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
      return Object.entries(allowed)
        .filter(
          ([word, places]) => wordPattern(word).test(code) && !places.some((place) => source.path.startsWith(place)),
        )
        .map(([word]) => `${source.path} uses ${word}`);
    });
}

/** The word as it stands, not as a part of another. */
function wordPattern(word: string): RegExp {
  return new RegExp(`(?<!\\w)${word.replace(/[.()]/g, "\\$&")}(?!\\w)`);
}

describe("SQL", () => {
  it("takes its time from who calls, and its chance from nowhere but new ids", () => {
    const folder = join(root, "packages/kernel/sql");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".sql"));
    expect(files.length).toBeGreaterThan(20);
    const broken = files.flatMap((file) => {
      const code = readFileSync(join(folder, file), "utf8")
        .replace(/--.*$/gm, "")
        .replaceAll("coalesce(at, clock_timestamp())", "");
      return Object.entries(AMBIENT_SQL)
        .filter(([word, places]) => wordPattern(word).test(code) && !places.includes(file))
        .map(([word]) => `${file} uses ${word}`);
    });
    expect(broken).toEqual([]);
  });

  it("lives in .sql files: no statement text in the sources", () => {
    const statement = /["'`]\s*(select|insert into|update|delete from|create (table|function|index))\s/i;
    const broken = sources
      .filter((source) => !source.isTest && !["testkit", "engines"].includes(source.package))
      .filter((source) => statement.test(source.text))
      .map((source) => source.path);
    expect(broken).toEqual([]);
  });
});
