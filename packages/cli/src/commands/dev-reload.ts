// The bundle of `dev`, watched and loaded again, and what is printed about it.
//
//   D1. Files are compared with what they were before the bundle was first loaded: what is saved while the process starts counts.
//   D2. One line says what a reload changed. Mistakes are said as `validate` says them, once. Where the bundle stays as wrong as it
//       was, that is one line after each save of a source or a document, and nothing after other files.
//   D3. The directory of the store, and of workspaces, is not looked at.

import { realpathSync, statSync } from "node:fs";
import { relative, resolve } from "node:path";
import {
  type BundleReload,
  type Changes,
  type FileWatch,
  type Finding,
  isBundleFile,
  type Reloaded,
  systemClock,
  watchFiles,
} from "@tessera/runtime";
import type { Line } from "../output/printing-gate.ts";
import { shownPath } from "../output/shown-path.ts";
import { findingLines, several } from "../output/validate-formats.ts";

/** Where it is printed: on a terminal, in a log, or as JSON. */
export interface ReloadTeller {
  reloaded(text: string, facts: Readonly<Record<string, unknown>>): void;
  /** Without lines where they are those of the last time. */
  refused(
    lines: readonly Line[],
    text: string,
    facts: { readonly files: readonly string[]; readonly findings: readonly Finding[] },
  ): void;
  warn(text: string): void;
}

interface DevReload {
  /** The process is there; from now on changes are loaded. */
  begin(reload: BundleReload): void;
  stop(): void;
}

const NAMES_SHOWN_MAX = 3;
/** Not .json: tools write such files, too. */
const SAVED_BY_HAND = /\.(?:[cm]?[jt]sx?|ya?ml|md)$/;

/** Null: there is no directory that could be watched. */
export function openDevReload(
  bundle: string,
  { not, teller }: { readonly not: readonly (string | undefined)[]; readonly teller: ReloadTeller },
): DevReload | null {
  const root = directoryOf(bundle);
  if (root === null) return null;
  const ready = Promise.withResolvers<BundleReload>();
  let current: BundleReload | null = null;
  let lastRefusal = "";
  let isStopped = false;

  async function load(files: readonly string[]): Promise<void> {
    const reload = await ready.promise;
    const done = await reload.reload(files);
    if (isStopped) return;
    if (done.kind === "refused") {
      const text = JSON.stringify(done.report.findings);
      const isSame = text === lastRefusal;
      if (!isSame || files.some((file) => SAVED_BY_HAND.test(file))) tellRefused(done, reload.root, { teller, isSame }); // D2
      lastRefusal = text;
      return;
    }
    if (done.isNews || lastRefusal !== "") tellReloaded(done, reload.root, teller);
    lastRefusal = "";
  }

  // D1: it begins to look now.
  const watching: Promise<FileWatch | null> = watchFiles({
    root,
    clock: systemClock,
    not: not.flatMap((directory) => (directory === undefined ? [] : [realOf(directory)])), // D3
    isWatched: (file) => current?.isOfBundle(file) ?? isBundleFile(file),
    elsewhere: () => current?.filesElsewhere() ?? [],
    onChange: load,
    onWarning: teller.warn,
  }).catch((error: unknown) => {
    teller.warn(`the bundle is not watched: ${String(error)}`);
    return null;
  });

  return {
    begin(reload) {
      current = reload;
      ready.resolve(reload);
      void watching.then((watch) => watch?.lookSoon());
    },
    stop() {
      isStopped = true;
      void watching.then((watch) => watch?.stop()).catch(() => undefined); // what is being loaded ends with the process
    },
  };
}

function tellReloaded(done: Extract<Reloaded, { kind: "reloaded" }>, root: string, teller: ReloadTeller): void {
  const files = done.files.map((file) => relative(root, file));
  const { tools, agents, areExtensionsNew, areSettingsOther } = done;
  const parts = [
    ...changesText(tools, "tool"),
    ...changesText(agents, "agent"),
    ...(areExtensionsNew ? ["extensions loaded again"] : []),
  ];
  const what = parts.length === 0 ? "no tool and no agent changed" : parts.join(", ");
  const more = areSettingsOther ? { settings_changed: true } : {};
  teller.reloaded(`reloaded ${filesText(files)}: ${what}`, {
    files,
    tools,
    agents,
    extensions_reloaded: areExtensionsNew,
    ...more,
  });
  if (areSettingsOther) teller.warn("the bundle's settings changed; they count from the next start");
}

function tellRefused(
  { files: paths, report }: Extract<Reloaded, { kind: "refused" }>,
  root: string,
  { teller, isSame }: { readonly teller: ReloadTeller; readonly isSame: boolean },
): void {
  const files = paths.map((file) => relative(root, file));
  const findings = report.findings.map((finding) => ({
    ...finding,
    file: shownPath(resolve(report.root, finding.file)),
  }));
  const count = several(findings.length, "mistake");
  teller.refused(
    isSame ? [] : findingLines(findings),
    `${isSame ? "still " : ""}not reloaded, ${count} (${filesText(files)}); the last good version goes on`,
    { files, findings },
  );
}

/** `1 tool added`, `2 tools changed`. */
function changesText(changes: Changes, noun: string): string[] {
  return (["added", "changed", "removed"] as const).flatMap((kind) => {
    const { length } = changes[kind];
    return length === 0 ? [] : [`${several(length, noun)} ${kind}`];
  });
}

function filesText(files: readonly string[]): string {
  return files.length > NAMES_SHOWN_MAX ? `${files.length} files` : files.join(", ");
}

function directoryOf(bundle: string): string | null {
  try {
    return statSync(bundle).isDirectory() ? realpathSync(bundle) : null;
  } catch {
    return null; // loading it reports that it is missing
  }
}

/** Of a directory that may not be there yet. */
function realOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return resolve(directory);
  }
}
