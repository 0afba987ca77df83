// The settings of a bundle: `settings` in the default export of its config file, or `spec.settings` of its Package.
//
//   F1. They are read before anything is opened, and nothing of the bundle but its config file runs for it.
//   F2. A key that is no setting is a mistake with its place and the nearest name: a typo must not silently keep a default.
//   F3. Where both say something, the config file decides, key by key.

import { existsSync } from "node:fs";
import { realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { importEntry, readBundleFiles, readConfigSettings } from "@tessera/executor";
import { isJsonObject, nearName } from "@tessera/protocol";
import { errorOfMistakes, type Mistake, mistakeOf, readYaml } from "@tessera/tool/resources";
import { SETTING_NAMES, specOf } from "./table.ts";

/** The settings of a bundle's file. */
export interface SettingsFile {
  /** Relative paths are relative to it. */
  readonly directory: string;
  /** Key → value, and its place for messages: `tessera.yaml:4:5 (settings.port)`. */
  readonly entries: ReadonlyMap<string, { readonly value: unknown; readonly from: string }>;
}

interface Entry {
  readonly key: string;
  readonly value: unknown;
  readonly at: { readonly file: string; readonly line: number; readonly column: number };
}

const CONFIG_FILES = ["tessera.config.ts", "tessera.config.js", "tessera.config.mjs"];
const KEYS = SETTING_NAMES.flatMap((name) => specOf(name).key ?? []);

/** The settings of a bundle; throws the TesseraError of all mistakes. A bundle that is not there sets nothing: what loads it says that it
 *  is missing. */
export async function readSettingsFile(
  bundle: string,
  how: { readonly isReloadable?: boolean } = {},
): Promise<SettingsFile> {
  const directory = await realpath(bundle).catch(() => null);
  if (directory === null || !(await stat(directory)).isDirectory()) return { directory: bundle, entries: new Map() };
  const entries = [...(await yamlEntries(directory)), ...(await configEntries(directory, how))]; // F3: the later one stands
  const [first, ...rest] = entries.flatMap(mistakeIn);
  if (first !== undefined) throw errorOfMistakes([first, ...rest]);
  return {
    directory,
    entries: new Map(entries.map(({ key, value, at }) => [key, { value, from: placeText(key, at) }])),
  };
}

async function yamlEntries(directory: string): Promise<Entry[]> {
  const files = await readBundleFiles(directory);
  return files.flatMap(({ path, text }) =>
    readYaml(text, { kind: "bundle", file: path }).flatMap(({ value, locate }) => {
      const spec = isJsonObject(value) && value.kind === "Package" ? value.spec : undefined;
      const settings = isJsonObject(spec) ? spec.settings : undefined;
      if (!isJsonObject(settings)) return []; // what is no mapping is reported by the reader of the Package
      return Object.entries(settings).map(([key, each]): Entry => {
        return { key, value: each, at: { file: path, ...locate(`/spec/settings/${key}`, "key") } };
      });
    }),
  );
}

async function configEntries(directory: string, how: { readonly isReloadable?: boolean }): Promise<Entry[]> {
  const file = CONFIG_FILES.find((name) => existsSync(join(directory, name)));
  if (file === undefined) return [];
  const settings = readConfigSettings(await importEntry(`./${file}`, directory, how), file); // F1
  return Object.entries(settings)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]): Entry => ({ key, value, at: { file, line: 1, column: 1 } }));
}

/** F2 */
function mistakeIn({ key, at }: Entry): Mistake[] {
  if (KEYS.includes(key)) return [];
  const says = SETTING_NAMES.some((name) => name === key)
    ? `the setting ${key} is read from the environment only (${specOf(key as never).variable})`
    : settingText(key);
  return [mistakeOf("E_CONFIG_SCHEMA_INVALID", { ...at, pointer: `/settings/${key}` }, says)];
}

function settingText(key: string): string {
  const says = `there is no setting ${JSON.stringify(key)}`;
  const near = nearName(key, KEYS);
  return near === undefined ? `${says}; the settings are ${KEYS.join(", ")}` : `${says}; did you mean ${near}?`;
}

function placeText(key: string, { file, line, column }: Entry["at"]): string {
  return `${file}:${line}:${column} (settings.${key})`;
}
