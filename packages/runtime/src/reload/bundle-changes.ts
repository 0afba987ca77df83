// What a new edition of a bundle changes, by name: what its author is told.

import type { AgentProfile } from "@tessera/agent";
import type { LoadedBundle } from "@tessera/executor";
import type { RegisteredTool } from "@tessera/tool";

/** Names that an edition of a bundle has added, changed and lost. */
export interface Changes {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export function changedAgents(before: readonly AgentProfile[], now: readonly AgentProfile[]): Changes {
  const [was, is] = [byName(before, ({ name }) => name), byName(now, ({ name }) => name)];
  return changesOf(was, is, (a, b) => JSON.stringify(a) !== JSON.stringify(b));
}

/** `files`: what changed, absolute; `isModuleChanged`: of a module that runs in children, by its entry. */
export function changedTools(
  before: LoadedBundle,
  now: LoadedBundle,
  changed: { readonly files: readonly string[]; isModuleChanged(entry: string): boolean },
): Changes {
  const nameOf = ({ definition }: RegisteredTool) => definition.tool_name;
  const hereNow = entriesHere(now);
  const isHelperChanged = changed.files.some((file) => CODE.test(file) && !hereNow.has(file));
  const isOtherCode = (a: RegisteredTool, b: RegisteredTool): boolean => {
    if (b.code?.kind !== "function" || a.code?.kind !== "function") {
      return a.code?.kind !== b.code?.kind || (b.code?.kind === "module" && changed.isModuleChanged(b.code.entry));
    }
    return textOf(a) !== textOf(b);
  };
  const is = byName(now.tools, nameOf);
  const found = changesOf(byName(before.tools, nameOf), is, (a, b) => {
    return JSON.stringify(a.definition) !== JSON.stringify(b.definition) || isOtherCode(a, b);
  });
  if (found.changed.length > 0) return found;
  // What stands around the handlers may have changed, or what they import: which of them mean it cannot be known.
  const around = [...is.values()].filter((tool) => {
    return (
      tool.code?.kind === "function" &&
      (isHelperChanged || changed.files.some((file) => hereNow.get(file)?.has(nameOf(tool))))
    );
  });
  return { ...found, changed: around.map(nameOf).filter((name) => !found.added.includes(name)) };
}

const CODE = /\.[cm]?[jt]sx?$/;

/** Files whose functions run in this process → the tools that each defines. */
function entriesHere({ root, tools, declared, config }: LoadedBundle): ReadonlyMap<string, ReadonlySet<string>> {
  const named = new Set(declared.map(({ definition }) => definition.tool_name));
  const inCode = tools.map(({ definition }) => definition.tool_name).filter((name) => !named.has(name));
  const entries = new Map<string, Set<string>>();
  if (config !== null) entries.set(`${root}/${config.file}`, new Set(inCode));
  for (const { definition, entry } of declared) {
    if (entry === undefined) continue;
    const file = `${root}/${entry.replace(/^\.\//, "")}`;
    entries.set(file, (entries.get(file) ?? new Set()).add(definition.tool_name));
  }
  return entries;
}

function textOf({ code }: RegisteredTool): string {
  if (code?.kind !== "function") return "";
  return [code.handler, code.parse, code.reconcile].map(String).join("\n");
}

function byName<T>(all: readonly T[], nameOf: (one: T) => string): ReadonlyMap<string, T> {
  return new Map(all.map((one) => [nameOf(one), one]));
}

function changesOf<T>(
  before: ReadonlyMap<string, T>,
  now: ReadonlyMap<string, T>,
  isOther: (before: T, now: T) => boolean,
): Changes {
  const names = [...now.keys()];
  return {
    added: names.filter((name) => !before.has(name)),
    changed: names.filter((name) => before.has(name) && isOther(before.get(name) as T, now.get(name) as T)),
    removed: [...before.keys()].filter((name) => !now.has(name)),
  };
}
