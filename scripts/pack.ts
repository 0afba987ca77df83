// npm run pack: builds the packages that are published and writes their tarballs to dist/tarballs.
//
//   P1. A tarball that grew beyond its bound is a failure: its bound says why it may be so large (release/packages.ts).

import { join, relative } from "node:path";
import { buildPackages } from "./release/build.ts";
import { packPackages } from "./release/pack.ts";
import { ROOT } from "./release/workspace.ts";

const OUT = join(ROOT, "dist");
const packed = packPackages(await buildPackages(OUT), join(OUT, "tarballs"));
for (const { plan, tarball, packedBytes, unpackedBytes, fileCount } of packed) {
  const sizes = [
    { what: "packed", kb: kilobytes(packedBytes), max: plan.packedKbMax },
    { what: "unpacked", kb: kilobytes(unpackedBytes), max: plan.unpackedKbMax },
  ];
  const shown = sizes.map(({ what, kb, max }) => `${kb} kB ${what} (at most ${max})`);
  console.log(`${relative(ROOT, tarball)}: ${shown.join(", ")}, ${fileCount} files`);
  if (sizes.some(({ kb, max }) => kb > max)) fail(`${plan.name} is larger than scripts/release/packages.ts lets it be`); // P1
}

// The main package names the others, and npm looks for what it is not given in the registry.
console.log(`\nIn a project, all together: npm install ${packed.map(({ tarball }) => tarball).join(" ")}`);

function kilobytes(bytes: number): number {
  return Math.ceil(bytes / 1_000);
}

function fail(why: string): void {
  console.error(why);
  process.exitCode = 1;
}
