// The TypeScript of the guides, as a reader's editor checks it: against the packages, strictly. `@goondan/types` in a tool
// module is @tessera/tool, as it is for the loader.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readGuide } from "./guide-blocks.ts";
import { ROOT } from "./run-guide.ts";

const GUIDES = join(ROOT, "docs/guides");
const directory = mkdtempSync(join(tmpdir(), "tessera-guide-types-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Guide by guide, because several write the same path. */
function writeGuide(file: string): number {
  const blocks = readGuide(readFileSync(join(GUIDES, file), "utf8")).flatMap((section) => section.blocks);
  const written = blocks.filter((block) => block.kind === "file" && block.path.endsWith(".ts"));
  for (const block of written) {
    if (block.kind !== "file") continue;
    const path = join(directory, basename(file, ".md"), block.path);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, block.text);
  }
  return written.length;
}

it("is without a mistake of types", () => {
  const written = readdirSync(GUIDES).map(writeGuide);
  expect(written.filter((count) => count > 0).length).toBeGreaterThan(3);
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  writeFileSync(join(directory, "package.json"), JSON.stringify({ type: "module" }));
  const tsconfig = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { types: ["node"], paths: { "@goondan/types": [join(ROOT, "packages/tool/src/index.ts")] } },
    include: ["*/**/*.ts"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(tsconfig));
  expect(typeErrors()).toBe("");
}, 120_000);

function typeErrors(): string {
  try {
    execFileSync(join(ROOT, "node_modules/.bin/tsc"), ["-p", directory, "--noEmit"], {
      encoding: "utf8",
      cwd: directory,
    });
    return "";
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}
