// The modules of a bundle that run in children: those in use, and beside them those of a load that is tried.
//
//   M1. A module is looked at again if a file that it was loaded from changed since it was taken into use; a load that was
//       dropped meanwhile changes nothing about that.
//   M2. A source that changed and belongs to nothing that is known may belong to any module by now: then all are looked at again.

import type { IsolatedHost } from "@tessera/executor";

type Looked = Awaited<ReturnType<IsolatedHost["inspect"]>>;

interface Tried {
  readonly looking: Promise<Looked>;
  /** Null: it is not done yet, or cannot be used. */
  found: Looked | null;
}

/** What may change how modules are found and read. */
const SOURCE = /(?:\.[cm]?[jt]sx?|(?:^|[\\/])(?:package|tsconfig)\.json)$/;

export interface IsolatedModules extends Pick<IsolatedHost, "inspect"> {
  /** Begins a load. `here`: files of modules that are loaded in this process. Answers whether those are to be loaded again. */
  begin(changed: readonly string[], here: readonly string[]): boolean;
  /** What the modules in use were loaded from. */
  files(): readonly string[];
  /** Whether the load gives the module other code. */
  isChanged(entry: string): boolean;
  use(): void;
  drop(): void;
}

export function createIsolatedModules(isolated: Pick<IsolatedHost, "inspect" | "use" | "drop">): IsolatedModules {
  const inUse = new Map<string, Looked>();
  let tried = new Map<string, Tried>();
  let areAllNew = true;
  /** Since what is in use was taken into use (M1). */
  const changedSince = new Set<string>();
  const hereSince = new Set<string>();

  const isTouched = (looked: Looked): boolean => filesOf(looked).some((file) => changedSince.has(file));

  return {
    begin(changed, here) {
      for (const file of changed) changedSince.add(file);
      for (const file of here) hereSince.add(file);
      const known = new Set([...inUse.values()].flatMap(filesOf));
      const all = [...changedSince];
      areAllNew = all.some((file) => SOURCE.test(file) && !known.has(file) && !hereSince.has(file)); // M2
      return areAllNew || all.some((file) => hereSince.has(file));
    },
    files: () => [...inUse.values()].flatMap(filesOf),
    isChanged(entry) {
      const [before, now] = [inUse.get(entry), tried.get(entry)?.found];
      if (now === undefined || now === null) return false;
      return before === undefined || isTouched(now) || filesOf(before).join("\n") !== filesOf(now).join("\n");
    },
    async inspect(entry, root) {
      const known = inUse.get(entry);
      if (known !== undefined && !areAllNew && !isTouched(known)) return known; // M1
      const again = tried.get(entry);
      if (again !== undefined) return await again.looking;
      const one: Tried = { looking: isolated.inspect(entry, root), found: null };
      tried.set(entry, one);
      one.found = await one.looking;
      return one.found;
    },
    use() {
      for (const [entry, { found }] of tried) {
        if (found === null) continue;
        inUse.set(entry, found);
        if (found.version !== undefined) isolated.use(found.version);
      }
      tried = new Map();
      changedSince.clear();
      hereSince.clear();
      areAllNew = false;
    },
    drop() {
      for (const { looking } of tried.values()) {
        const drop = ({ version }: Looked) => (version === undefined ? undefined : isolated.drop(version));
        void looking.then(drop, () => undefined); // what cannot be used is dropped already
      }
      tried = new Map();
    },
  };
}

function filesOf({ version }: Looked): readonly string[] {
  return version?.files ?? [];
}
