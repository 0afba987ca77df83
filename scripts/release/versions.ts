// The version of this build, in every file that says it: product.ts, from which the code takes it, the manifests of the workspace,
// and the lock file. A test holds the manifests to the code (workspace.test.ts).

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, readWorkspace } from "./workspace.ts";

const PRODUCT = "packages/protocol/src/product.ts";

interface Versioned {
  version: string;
  dependencies?: Record<string, string>;
}

export function isNewer(version: string, than: string): boolean {
  const [one, other] = [version, than].map((each) => each.split(".").map(Number));
  const differs = one?.findIndex((part, at) => part !== other?.[at]) ?? -1;
  return differs !== -1 && (one?.[differs] ?? 0) > (other?.[differs] ?? 0);
}

export function writeVersion(version: string, former: string): void {
  const { manifests } = readWorkspace();
  const own = new Set([...manifests.values()].map(({ name }) => name));
  const raise = (manifest: Versioned) => {
    manifest.version = version;
    for (const name of Object.keys(manifest.dependencies ?? {})) {
      if (own.has(name) && manifest.dependencies !== undefined) manifest.dependencies[name] = version;
    }
  };
  const product = readFileSync(join(ROOT, PRODUCT), "utf8");
  const said = `export const VERSION = "${former}";`;
  if (!product.includes(said)) throw new Error(`${PRODUCT} does not say: ${said}`);
  writeFileSync(join(ROOT, PRODUCT), product.replace(said, `export const VERSION = "${version}";`));
  for (const folder of manifests.keys()) change<Versioned>(`packages/${folder}/package.json`, raise);
  change<{ packages: Record<string, Versioned> }>("package-lock.json", ({ packages }) => {
    for (const folder of manifests.keys()) raise(packages[`packages/${folder}`] as Versioned);
  });
}

function change<Content>(path: string, by: (content: Content) => void): void {
  const content = JSON.parse(readFileSync(join(ROOT, path), "utf8")) as Content;
  by(content);
  writeFileSync(join(ROOT, path), `${JSON.stringify(content, null, 2)}\n`);
}
