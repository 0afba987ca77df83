// The TypeScript of the guides, as a reader's editor checks it: strictly, against the packages as they are installed.
// `@goondan/types` in a tool module is Tessera's Tool API, as it is for the loader; examples/text-utils tells editors so.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { expect, it } from "vitest";
import { installedProject } from "../package/installed-project.ts";
import { readGuide } from "./guide-blocks.ts";
import { ROOT } from "./run-guide.ts";

const GUIDES = join(ROOT, "docs/guides");

/** Guide by guide, because several write the same path. */
function writeGuide(file: string, directory: string): number {
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

it("is without a mistake of types", async () => {
  const { directory } = await installedProject();
  const written = readdirSync(GUIDES).map((file) => writeGuide(file, directory));
  expect(written.filter((count) => count > 0).length).toBeGreaterThan(3);
  cpSync(join(ROOT, "examples/text-utils/goondan-types.d.ts"), join(directory, "goondan-types.d.ts"));
  const tsconfig = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { typeRoots: [join(ROOT, "node_modules/@types")], types: ["node"] },
    include: ["*/**/*.ts", "*.d.ts"],
    exclude: ["node_modules"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(tsconfig));
  expect(typeErrors(directory)).toBe("");
}, 300_000);

function typeErrors(directory: string): string {
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
