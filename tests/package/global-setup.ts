// Vitest's global setup: a place outside of the clone where packages are packed and installed, and a registry that serves them.
// Nothing is packed before a test asks for it (installed-project.ts).

import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Registry, startRegistry } from "./registry.ts";

declare module "vitest" {
  export interface ProvidedContext {
    installation: { readonly base: string; readonly registry: string };
  }
}

interface Shared {
  readonly base: string;
  readonly registry: Promise<Registry>;
  users: number;
}

/** Each project loads this file anew, so what they share lies on the process. */
const SHARED = Symbol.for("tessera.installation");
const place = globalThis as typeof globalThis & { [SHARED]?: Shared };

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = place[SHARED] ?? open();
  place[SHARED] = shared;
  shared.users++;
  project.provide("installation", { base: shared.base, registry: (await shared.registry).url });
  return async () => {
    shared.users--;
    if (shared.users > 0) return;
    delete place[SHARED];
    await (await shared.registry).close();
    rmSync(shared.base, { recursive: true, force: true });
  };
}

function open(): Shared {
  const base = mkdtempSync(join(realpathSync(tmpdir()), "tessera-installation-"));
  return { base, registry: startRegistry(base), users: 0 };
}
