// A bundle in a directory of its own, and a host for its isolated tools.
//
// `useBundleDirectory` is called once in each test file: every test gets an empty directory.

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { createIsolatedHost, type IsolatedHost } from "../src/placements/isolated/isolated-host.ts";

export let bundle: string;
export let isolated: IsolatedHost;

export function useBundleDirectory(): void {
  beforeAll(() => {
    isolated = createIsolatedHost({ clock: systemClock, onWarning: () => {} });
  });
  afterAll(() => isolated.close());
  beforeEach(async () => {
    bundle = await realpath(await mkdtemp(join(tmpdir(), "tessera-bundle-")));
  });
  afterEach(() => rm(bundle, { recursive: true, force: true }));
}

/** Texts by their paths in the bundle. */
export async function write(files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(bundle, path)), { recursive: true });
    await writeFile(join(bundle, path), text);
  }
}
