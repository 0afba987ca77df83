// The code of a bundle's tools: where its children live, and what the bundle holds once it is read and its modules are looked
// at. It needs no store, so a process reads it while its store is opened.
//
//   C1. Where transformed sources are kept beside compiled ones, a start does not wait for the store: children start on
//       another core meanwhile, and before the database has grown this process, which makes them cheap to start.
//   C2. Elsewhere they are kept beside the workspaces, in a directory that is the store's to make: then it waits.
//   C3. What comes of it is told by `bundle()`, to whoever asks; a start that failed for another reason drops it.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve as absolutePath, join } from "node:path";
import {
  createIsolatedHost,
  type IsolatedHost,
  keptTransformed,
  type LoadedBundle,
  loadBundleTools,
} from "@tessera/executor";
import type { Clock } from "@tessera/kernel";
import { errorOf, TesseraError } from "@tessera/protocol";
import { errorOfMistakes, type Mistake } from "@tessera/tool/resources";
import type { StorePlace } from "./store-place.ts";

export interface ToolCodeOptions {
  readonly place: StorePlace;
  readonly clock: Clock;
  /** A directory with `tessera.yaml`, `goondan.yaml` or `tessera.config.ts`. */
  readonly bundle?: string | undefined;
  readonly workspaces?: string | undefined;
  /** Isolated tools see no process but their own. */
  readonly hidesProcesses?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onWarning: (warning: string) => void;
}

export interface ToolCode {
  readonly workspaceRoot: string;
  readonly isolated: IsolatedHost;
  /** Resolves when the children that look at modules were started, or none has to be by now. Never rejects. */
  readonly begun: Promise<void>;
  /** Throws the TesseraError of all mistakes. */
  bundle(): Promise<LoadedBundle | null>;
  /** May be called twice. Resolves when no child is left. */
  close(): Promise<void>;
}

export async function openToolCode(options: ToolCodeOptions): Promise<ToolCode> {
  const { clock, env, hidesProcesses, onWarning } = options;
  const place = await workspaceRoot(options);
  const kept = keptTransformed();
  const isolated = createIsolatedHost({
    clock,
    env,
    cacheDir: kept ?? join(place.root, ".cache"),
    hidesProcesses,
    onWarning,
  });
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const inspect: IsolatedHost["inspect"] = (entry, root) => {
    const looked = isolated.inspect(entry, root);
    begin();
    return looked;
  };
  let loaded: Promise<LoadedBundle | null> | null = null;
  const load = () => {
    loaded ??= loadBundle(options, { inspect }).finally(begin);
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
    async close() {
      await isolated.close(); // a child that nobody ends keeps this process alive
      await place.close();
    },
  };
}

async function loadBundle(
  { bundle, onWarning }: Pick<ToolCodeOptions, "bundle" | "onWarning">,
  isolated: Pick<IsolatedHost, "inspect">,
): Promise<LoadedBundle | null> {
  if (bundle === undefined) return null;
  const loaded = await loadBundleTools(bundle, { isolated, onWarning }).catch((error: NodeJS.ErrnoException) => {
    if (TesseraError.is(error) || error.code === undefined) throw error;
    const details = { kind: "missing_bundle", errno: error.code };
    throw errorOf("E_CONFIG_ENTRY_NOT_FOUND", `there is no bundle at ${bundle}: ${error.code}`, { details });
  });
  if (loaded.mistakes.length > 0) throw errorOfMistakes(loaded.mistakes as readonly [Mistake, ...Mistake[]]);
  return loaded;
}

/** A workspace that nobody chose lies beside the store, or, without a directory, is removed at the end. */
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
