// The code of a bundle's tools: where its children live, and what the bundle holds once it is read and its modules are looked
// at. It needs no store, so a process reads it while its store is opened.
//
//   C1. Where transformed sources are kept beside compiled ones, a start does not wait for the store: children start on
//       another core meanwhile, and before the database has grown this process, which makes them cheap to start.
//   C2. Elsewhere they are kept beside the workspaces, in a directory that is the store's to make: then it waits.
//   C3. What comes of it is answered by `bundle()`, to every caller; a start that failed for another reason drops it.
//   C4. Where it is reloadable, each load is tried beside what is in use, and then used or dropped. Modules that no changed file
//       belongs to stay as they are, with what they remember. Whose file a new source is, is not known: then all are loaded.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve as absolutePath, join } from "node:path";
import {
  type BundleLoadOptions,
  createIsolatedHost,
  forgetLoaded,
  type IsolatedHost,
  keptTransformed,
  type LoadedBundle,
  loadBundleTools,
  loadedFiles,
} from "@tessera/executor";
import type { Clock } from "@tessera/kernel";
import { errorOf, TesseraError } from "@tessera/protocol";
import { errorOfMistakes, type Mistake } from "@tessera/tool/resources";
import { createIsolatedModules } from "../reload/isolated-modules.ts";
import type { StorePlace } from "../store/store-place.ts";

export interface ToolCodeOptions {
  readonly place: StorePlace;
  readonly clock: Clock;
  /** A directory with `tessera.yaml`, `goondan.yaml` or `tessera.config.ts`. */
  readonly bundle?: string | undefined;
  readonly workspaces?: string | undefined;
  /** Isolated tools see no process but their own. */
  readonly hidesProcesses?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The bundle can be loaded again (C4). */
  readonly isReloadable?: boolean | undefined;
  readonly onWarning: (warning: string) => void;
}

/** The bundle as it is now, tried (C4). */
export interface TriedBundle {
  /** With its mistakes, if there are any. */
  readonly bundle: LoadedBundle;
  /** Whether modules of this process are loaded again; those of extensions are, once they are asked for. */
  readonly hasNewModules: boolean;
  /** Whether a module that runs in children has other code than the one in use. */
  isChanged(entry: string): boolean;
  use(): void;
  drop(): void;
}

export interface ToolCode {
  readonly workspaceRoot: string;
  readonly isolated: IsolatedHost;
  /** Resolves when the children that look at modules were started, or none has to be by now. Never rejects. */
  readonly begun: Promise<void>;
  /** Throws the TesseraError of all mistakes. */
  bundle(): Promise<LoadedBundle | null>;
  /** Loads the bundle again (C4), one time after the other. `changed`: absolute paths, since the last time. */
  tryAgain(changed: readonly string[]): Promise<TriedBundle>;
  /** What the modules were loaded from, wherever it lies. */
  files(): ReadonlySet<string>;
  /** May be called twice. Resolves when no child is left. */
  close(): Promise<void>;
}

export async function openToolCode(options: ToolCodeOptions): Promise<ToolCode> {
  const { clock, env, hidesProcesses, onWarning } = options;
  const place = await workspaceRoot(options);
  const kept = keptTransformed();
  const { isReloadable = false } = options;
  const versionsDir = isReloadable ? await mkdtemp(join(tmpdir(), "tessera-versions-")) : undefined;
  const isolated = createIsolatedHost({
    clock,
    env,
    cacheDir: kept ?? join(place.root, ".cache"),
    hidesProcesses,
    versionsDir,
    onWarning,
  });
  const modules = createIsolatedModules(isolated);
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const inspect: IsolatedHost["inspect"] = (entry, root) => {
    const looked = isReloadable ? modules.inspect(entry, root) : isolated.inspect(entry, root);
    begin();
    return looked;
  };
  let loaded: Promise<LoadedBundle | null> | null = null;
  const load = () => {
    loaded ??= loadBundle(options, { inspect })
      .finally(begin)
      .finally(() => modules.use());
    return loaded;
  };
  if (kept === undefined) begin();
  else void load().catch(() => undefined); // C1, C3
  return {
    begun,
    workspaceRoot: place.root,
    isolated,
    async bundle() {
      const bundle = await load(); // C2
      for (const { file, line, column, pointer } of bundle?.ignored ?? []) {
        onWarning(`${file}:${line}:${column}: ${pointer} has no meaning here and is ignored`);
      }
      return bundle;
    },
    files: () => new Set([...modules.files(), ...loadedFiles()]),
    async tryAgain(changed) {
      if (options.bundle === undefined) throw new Error("there is no bundle to load again");
      const hasNewModules = modules.begin(changed, loadedFiles());
      if (hasNewModules) forgetLoaded();
      try {
        const bundle = await readBundle(options.bundle, { isolated: modules, isReloadable, onWarning });
        return {
          bundle,
          hasNewModules,
          isChanged: (entry) => modules.isChanged(entry),
          use: () => modules.use(),
          drop: () => modules.drop(),
        };
      } catch (error) {
        modules.drop();
        throw error;
      }
    },
    async close() {
      await isolated.close(); // a child that is not ended keeps this process alive
      await place.close();
      if (versionsDir !== undefined) await rm(versionsDir, { recursive: true, force: true });
    },
  };
}

async function loadBundle(
  { bundle, isReloadable, onWarning }: Pick<ToolCodeOptions, "bundle" | "isReloadable" | "onWarning">,
  isolated: Pick<IsolatedHost, "inspect">,
): Promise<LoadedBundle | null> {
  if (bundle === undefined) return null;
  const loaded = await readBundle(bundle, { isolated, isReloadable, onWarning });
  if (loaded.mistakes.length > 0) throw errorOfMistakes(loaded.mistakes as readonly [Mistake, ...Mistake[]]);
  return loaded;
}

async function readBundle(bundle: string, options: BundleLoadOptions): Promise<LoadedBundle> {
  return await loadBundleTools(bundle, options).catch((error: NodeJS.ErrnoException) => {
    if (TesseraError.is(error) || error.code === undefined) throw error;
    const details = { kind: "missing_bundle", errno: error.code };
    throw errorOf("E_CONFIG_ENTRY_NOT_FOUND", `there is no bundle at ${bundle}: ${error.code}`, { details });
  });
}

/** A workspace that was not chosen lies beside the store, or, without a directory, is removed at the end. */
async function workspaceRoot({
  workspaces,
  place,
}: Pick<ToolCodeOptions, "workspaces" | "place">): Promise<{ root: string; close(): Promise<void> }> {
  const chosen = workspaces ?? (place.kind === "directory" ? join(place.directory, "workspaces") : undefined);
  // Absolute: isolated children have other current directories.
  if (chosen !== undefined) return { root: absolutePath(chosen), close: async () => undefined };
  const root = await mkdtemp(join(tmpdir(), "tessera-workspaces-"));
  return { root, close: () => rm(root, { recursive: true, force: true }) };
}
