// A bundle loaded again into a process that runs.
//
//   R1. What is tried is complete before anything changes: a mistake anywhere leaves the edition in use as it is, in memory and
//       in the store.
//   R2. Then its definitions are written, with no turn taken up meanwhile, and it is in use (open-agents.ts, A3). Each write may
//       be repeated and none needs the next: a process that is killed among them leaves a store that the next start completes.
//   R3. What went out of the bundle goes out of the project: profiles at once, tools when no call waits for them.
//   R4. Turns that were asked for keep their profile, and calls their definition, as with every deployment.
//   R5. Settings are read at the start only; a change of them is told.

import { join } from "node:path";
import { withdrawProfiles } from "@tessera/agent";
import type { IsolatedHost, LoadedBundle } from "@tessera/executor";
import { isStorageError } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import type { Agents } from "../agents/open-agents.ts";
import type { Node } from "../process/open-node.ts";
import { readSettingsFile } from "../settings/file.ts";
import type { ToolCode, TriedBundle } from "../tools/tool-code.ts";
import type { ToolHost } from "../tools/tool-host.ts";
import { type BundleReport, reportOn } from "../validate/validate-bundle.ts";
import { findingOf } from "../validate/validate-finding.ts";
import { type Changes, changedAgents, changedTools } from "./bundle-changes.ts";
import { createLeavingTools } from "./leaving-tools.ts";

/** What came of loading a bundle again. */
export type Reloaded =
  | {
      readonly kind: "reloaded";
      /** Absolute, since the last time that a reload was used. */
      readonly files: readonly string[];
      readonly tools: Changes;
      readonly agents: Changes;
      readonly areExtensionsNew: boolean;
      /** False: none of the files belongs to the bundle, and nothing changed. */
      readonly isNews: boolean;
      /** Settings count from the next start (R5). */
      readonly areSettingsOther: boolean;
    }
  /** Mistakes: the edition in use goes on. */
  | { readonly kind: "refused"; readonly files: readonly string[]; readonly report: BundleReport };

/** Loads the bundle of a running process again. */
export interface BundleReload {
  /** The real path of the bundle. */
  readonly root: string;
  /** Whether a change of the file may change the bundle. */
  isOfBundle(file: string): boolean;
  /** Files outside of the bundle's directory that belong to it. */
  filesElsewhere(): readonly string[];
  /** One after the other. Throws where the store is away: the same changes may be given again. */
  reload(changed: readonly string[]): Promise<Reloaded>;
  stop(): void;
}

export interface ReloadOptions {
  readonly node: Node;
  readonly project: string;
  /** As it was named. */
  readonly bundle: string;
  readonly code: ToolCode;
  readonly host: ToolHost;
  readonly agents: Agents;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onWarning: (warning: string) => void;
}

/** Sources, and the forms of documents: of files, not of what a tool may write beside them. */
const SOURCE_OR_DOCUMENT = /\.(?:[cm]?[jt]sx?|json|ya?ml)$/;
const RESOURCES = /\.ya?ml$/;

/** By its name; others may belong to one, too. */
export function isBundleFile(file: string): boolean {
  return SOURCE_OR_DOCUMENT.test(file);
}

export function createBundleReload(options: ReloadOptions): BundleReload {
  const { node, project, bundle, code, host, agents, env, onWarning } = options;
  const { kernel, clock } = node;
  const root = loadedOf(host).root;
  const leaving = createLeavingTools({ kernel, project, clock, onWarning });
  const pending = new Set<string>();
  let isRefused = false;
  /** Name → box, of agents that are to be withdrawn. */
  const goneAgents = new Map<string, string>();
  const isKnown = (file: string) => code.files().has(file) || agents.edition.files.includes(file);
  const settingsNow = async () =>
    JSON.stringify(
      [...(await readSettingsFile(root, { isReloadable: true })).entries].map(([key, { value }]) => [key, value]),
    );

  let settings = settingsNow().catch(() => "");

  async function use(tried: TriedBundle): Promise<Reloaded> {
    const { bundle: now, hasNewModules } = tried;
    const [before, boxes, editionBefore] = [loadedOf(host), agents.deployed, agents.edition];
    const edition = await agents.prepare(host.prepare(now), { hasNewModules });
    const files = [...pending];
    const extensionFiles = edition.extensionEntries.map((entry) => join(now.root, entry));
    const tools = changedTools(before, now, {
      files: files.filter((file) => !extensionFiles.includes(file)),
      isModuleChanged: (entry) => tried.isChanged(entry),
    });
    const stored = new Map(host.stored);
    leaving.keep(now.tools.map(({ definition }) => definition.tool_name));
    await agents.use(edition, () => tried.use()); // R2
    const agentsChanged = changedAgents(editionBefore.profiles, edition.profiles);
    const gone = (names: readonly string[], of: (name: string) => string | undefined) =>
      new Map(names.flatMap((name) => (of(name) === undefined ? [] : [[name, of(name) as string] as const])));
    for (const [name, box] of gone(agentsChanged.removed, (name) => boxes.get(name))) goneAgents.set(name, box);
    for (const { name } of edition.profiles) goneAgents.delete(name);
    if (goneAgents.size > 0) await withdrawProfiles(kernel, project, goneAgents); // R3
    goneAgents.clear();
    await leaving.leave(gone(tools.removed, (name) => stored.get(name)?.digest)); // R3
    const areExtensionsNew = edition.extensions !== editionBefore.extensions && edition.extensionText !== "[]";
    const isOther = [tools, agentsChanged].some((each) =>
      [each.added, each.changed, each.removed].some((list) => list.length > 0),
    );
    const isNews = isOther || files.some((file) => isKnown(file) || RESOURCES.test(file));
    return {
      kind: "reloaded",
      files,
      tools,
      agents: agentsChanged,
      areExtensionsNew,
      isNews,
      areSettingsOther: await areSettingsOther(),
    };
  }

  /** R5 */
  async function areSettingsOther(): Promise<boolean> {
    const before = await settings;
    settings = settingsNow().catch(() => before);
    return before !== (await settings);
  }

  async function refuse(loaded: LoadedBundle, thrown: unknown): Promise<Reloaded> {
    const files = [...pending];
    const as = { path: bundle, isFile: false, isolated: looking(code.isolated), env, isReloadable: true };
    const report = await reportOn(loaded, as);
    const findings = report.findings.filter(({ severity }) => severity === "error");
    if (findings.length === 0 && TesseraError.is(thrown)) {
      const file = files[0]?.slice(root.length + 1) ?? ".";
      findings.push(findingOf("error", thrown.code, { file, line: 1, column: 1, message: thrown.message }));
    }
    return { kind: "refused", files, report: { ...report, findings } };
  }

  return {
    root,
    // While it is refused, any file may be the one that is missing. But the log is no news of itself.
    isOfBundle: (file) => isBundleFile(file) || isKnown(file) || (isRefused && !file.endsWith(".log")),
    filesElsewhere: () => [...code.files()].filter((file) => !file.startsWith(join(root, "/"))),
    async reload(changed) {
      for (const file of changed) pending.add(file);
      let tried: TriedBundle | null = null;
      try {
        tried = await code.tryAgain(changed);
        const mistakes = tried.bundle.mistakes.length > 0;
        const done = mistakes ? await refuse(tried.bundle, null) : await use(tried);
        isRefused = mistakes;
        if (mistakes) tried.drop();
        else pending.clear();
        return done;
      } catch (error) {
        tried?.drop(); // nothing, where it is in use by now
        isRefused = true;
        if (!TesseraError.is(error) || isStorageError(error)) throw error;
        return await refuse(tried?.bundle ?? loadedOf(host), error);
      }
    },
    stop: () => leaving.stop(),
  };
}

function loadedOf({ bundle }: ToolHost): LoadedBundle {
  if (bundle === null) throw new Error("a process without a bundle has nothing to reload");
  return bundle;
}

/** Modules that are only looked at for a report are none to be used. */
function looking(isolated: IsolatedHost): Pick<IsolatedHost, "inspect"> {
  return {
    async inspect(entry, root) {
      const looked = await isolated.inspect(entry, root);
      if (looked.version !== undefined) isolated.drop(looked.version);
      return looked;
    },
  };
}
