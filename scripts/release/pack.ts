// Tarballs of built packages, as `npm publish` would send them.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BuiltPackage } from "./build.ts";

export interface PackedPackage extends BuiltPackage {
  readonly tarball: string;
  readonly packedBytes: number;
  readonly unpackedBytes: number;
  readonly fileCount: number;
}

interface PackAnswer {
  readonly name: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly entryCount: number;
}

/** The name that npm gives to the tarball of a package. */
export function tarballOf(name: string, version: string): string {
  return `${name.replace("@", "").replace("/", "-")}-${version}.tgz`;
}

export function packPackages(built: readonly BuiltPackage[], destination: string): PackedPackage[] {
  mkdirSync(destination, { recursive: true });
  const directories = built.map(({ directory }) => directory);
  const said = execFileSync("npm", ["pack", "--json", "--pack-destination", destination, ...directories], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const answers = JSON.parse(said) as PackAnswer[] | Readonly<Record<string, PackAnswer>>;
  return built.map((each) => {
    const answer = Object.values(answers).find(({ name }) => name === each.plan.name);
    if (answer === undefined) throw new Error(`npm packed no ${each.plan.name}`);
    const { size, unpackedSize, entryCount } = answer;
    return {
      ...each,
      tarball: join(destination, tarballOf(each.plan.name, each.version)),
      packedBytes: size,
      unpackedBytes: unpackedSize,
      fileCount: entryCount,
    };
  });
}
