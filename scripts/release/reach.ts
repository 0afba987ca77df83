// What of the compiled workspace a package needs: from what it exports, along the imports, as far as they lead.
//
//   R1. Code and declarations are followed apart: most modules are no part of any type that a user sees.
//   R2. A part that another package of ours carries is imported from there by a name that it exports, and never travels twice.
//   R3. Any other package has to be among the dependencies of the part that imports it.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import type { PackagePlan } from "./packages.ts";
import { specifiersOf, startedBy } from "./specifiers.ts";
import { type ModuleName, packageOf, type Workspace, withoutEnding } from "./workspace.ts";

export interface Reach {
  readonly plan: PackagePlan;
  /** Modules whose code travels, and modules whose declarations do (R1). */
  readonly code: ReadonlySet<ModuleName>;
  readonly declared: ReadonlySet<ModuleName>;
  /** What each specifier of a workspace module is called in this package (R2); absent: a module of the package itself. */
  readonly elsewhere: ReadonlyMap<string, string>;
  /** The packages of ours that it imports. */
  readonly siblings: ReadonlySet<string>;
}

interface World {
  readonly workspace: Workspace;
  /** Where the compiler wrote to. */
  readonly compiled: string;
  /** What was reached before. */
  readonly others: readonly PackagePlan[];
}

const ENDINGS = { code: ".js", declared: ".d.ts" } as const;

export function reachOf(plan: PackagePlan, world: World): Reach {
  const { workspace, others, compiled } = world;
  const reached = { code: new Set<ModuleName>(), declared: new Set<ModuleName>() };
  const elsewhere = new Map<string, string>();
  const siblings = new Set<string>();

  function follow(module: ModuleName, kind: keyof typeof ENDINGS): void {
    if (reached[kind].has(module)) return;
    const file = join(compiled, module + ENDINGS[kind]);
    if (!existsSync(file)) throw new Error(`${module} was not compiled: it lies outside of the sources of a package`);
    reached[kind].add(module);
    const text = readFileSync(file, "utf8");
    for (const specifier of specifiersOf(file, text)) {
      const next = moduleOf(specifier, module, workspace);
      if (next === null) expectDependency(specifier, module);
      else if (plan.parts.includes(partOf(next))) follow(next, kind);
      else importFrom(specifier, module);
    }
    if (kind === "code") for (const path of startedBy(text)) follow(join(dirname(module), path), kind);
  }

  function importFrom(specifier: string, module: ModuleName): void {
    for (const other of others) {
      const [subpath] = Object.entries(other.exports).find(([, means]) => means === specifier) ?? [];
      if (subpath === undefined) continue;
      elsewhere.set(specifier, other.name + subpath.slice(1));
      siblings.add(other.name);
      return;
    }
    throw new Error(
      `${plan.name} has no part with ${specifier}, which ${module} imports, and no other package exports it`,
    );
  }

  /** R3 */
  function expectDependency(specifier: string, module: ModuleName): void {
    if (specifier.startsWith("node:")) return;
    const name = packageOf(specifier);
    if (workspace.manifests.get(partOf(module))?.dependencies[name] !== undefined) return;
    throw new Error(`${module} imports ${name}, which its package does not depend on`);
  }

  for (const specifier of Object.values(plan.exports)) {
    const module = workspace.modules.get(specifier);
    if (module === undefined)
      throw new Error(`${plan.name} exports ${specifier}, which no package of the workspace has`);
    follow(module, "code");
    follow(module, "declared");
  }
  for (const module of Object.values(plan.bin ?? {})) follow(module, "code");
  return { plan, code: reached.code, declared: reached.declared, elsewhere, siblings };
}

/** The module of the workspace that a specifier means; null: another package's. */
export function moduleOf(specifier: string, from: ModuleName, { modules }: Workspace): ModuleName | null {
  if (specifier.startsWith(".")) return join(dirname(from), withoutEnding(specifier));
  return modules.get(specifier) ?? null;
}

function partOf(module: ModuleName): string {
  return module.slice(0, module.indexOf("/"));
}
