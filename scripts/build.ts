// npm run build: the packages that are published, in dist/. `npm run pack` makes tarballs of them.

import { join, relative } from "node:path";
import { buildPackages } from "./release/build.ts";
import { ROOT } from "./release/workspace.ts";

for (const { plan, version, directory } of await buildPackages(join(ROOT, "dist"))) {
  console.log(`${plan.name} ${version} in ${relative(ROOT, directory)}`);
}
