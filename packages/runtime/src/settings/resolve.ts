// Settings from the command line, the environment, the file and the defaults, in this order.
//
//   R1. The first of them that says anything decides. Each value knows where it comes from.
//   R2. data, postgres and url name one place between them: where a flag names one, the environment's and the file's are
//       not meant, whichever they are. Two in the same source are a mistake, never a guess.
//   R3. All mistakes are found at once; each names the flag, the variable or the place in the file, what was found and what
//       was expected. An empty variable counts as unset.

import { resolve } from "node:path";
import type { SettingsFile } from "./file.ts";
import { readValue, type SettingValue, shownValue } from "./read-value.ts";
import { SETTING_NAMES, type SettingName, type SettingSpec, type Settings, specOf } from "./table.ts";

/** Where the value of a setting comes from. */
export type SettingSource = "flag" | "environment" | "file" | "default";

/** A setting with its value and where that comes from. */
export interface ResolvedSetting {
  readonly name: SettingName;
  /** Undefined: not set, and without a default. */
  readonly value: SettingValue | undefined;
  readonly source: SettingSource;
  /** `--port`, `TESSERA_PORT`, `tessera.yaml:4:5`; null for a default. */
  readonly from: string | null;
}

/** What is wrong with a setting. */
export interface SettingProblem {
  readonly name: SettingName;
  readonly source: SettingSource;
  readonly from: string;
  /** Says where, what was found and what was expected. */
  readonly message: string;
}

/** All settings with their values, and what is wrong with them. */
export interface ResolvedSettings {
  readonly values: Settings;
  readonly settings: readonly ResolvedSetting[];
  readonly problems: readonly SettingProblem[];
}

/** Where values of settings are looked for. */
export interface SettingSources {
  /** By the flag's name without dashes, as a parser gives them: `allowedHosts`, `grace`. */
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly file?: SettingsFile | null;
  /** Only these; the others have their defaults. For a command that does not know the rest. */
  readonly names?: readonly SettingName[];
}

interface Given {
  readonly name: SettingName;
  readonly source: Exclude<SettingSource, "default">;
  readonly from: string;
  readonly raw: unknown;
}

const PLACES: readonly SettingName[] = ["data", "postgres", "url"];
const ORDER = ["flag", "environment", "file"] as const;

/** Flags, environment and the bundle's file as settings, the first that says something counting. */
export function resolveSettings(sources: SettingSources): ResolvedSettings {
  const names = sources.names ?? SETTING_NAMES;
  const problems: SettingProblem[] = [];
  const given = names.flatMap((name) => givenOf(name, sources));
  const place = placeOf(given, problems);
  const settings = SETTING_NAMES.map((name): ResolvedSetting => {
    const first = given.find((each) => each.name === name); // R1
    if (first === undefined || (PLACES.includes(name) && first !== place)) return defaultOf(name);
    const { source, from } = first;
    const value = readGiven(first, sources, problems);
    return value === undefined ? defaultOf(name) : { name, source, from, value };
  });
  const values = Object.fromEntries(settings.map(({ name, value }) => [name, value])) as Partial<Settings> as Settings;
  return { values, settings, problems };
}

/** What the sources say about a setting, the deciding one first. */
function givenOf(name: SettingName, { flags = {}, env = {}, file = null }: SettingSources): Given[] {
  const { flag, variable, alias, key } = specOf(name);
  const found: Given[] = [];
  const flagged = flag === null ? undefined : flags[flagKey(flag)];
  if (flag !== null && flagged !== undefined) found.push({ name, source: "flag", from: flag, raw: flagged });
  for (const each of [variable, alias]) {
    if (each && env[each]) found.push({ name, source: "environment", from: each, raw: env[each] }); // R3
  }
  const filed = key === null ? undefined : file?.entries.get(key);
  if (filed !== undefined) found.push({ name, source: "file", from: filed.from, raw: filed.value });
  return found;
}

/** `--allowed-hosts` → `allowedHosts`, as argument parsers name it. */
export function flagKey(flag: string): string {
  return flag.replace(/^--/, "").replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** R2 */
function placeOf(given: readonly Given[], problems: SettingProblem[]): Given | null {
  for (const source of ORDER) {
    const named = given.filter((each) => each.source === source && PLACES.includes(each.name));
    const [first, second] = named;
    if (first === undefined) continue;
    if (second !== undefined) {
      const message = `${named.map(({ from }) => from).join(" and ")} each name a store or a server; give one of them`;
      problems.push({ name: first.name, source, from: first.from, message });
    }
    return first;
  }
  return null;
}

function readGiven(given: Given, { file }: SettingSources, problems: SettingProblem[]): SettingValue | undefined {
  const { name, source, from, raw } = given;
  const spec = specOf(name);
  const read = readValue(spec, raw);
  if ("value" in read) return source === "file" ? inFile(spec, read.value, file?.directory) : read.value;
  const message = `${from} must be ${read.expected}; it is ${shownValue(spec, raw)}`;
  problems.push({ name, source, from, message });
  return undefined;
}

/** A path in the file is relative to the file. */
function inFile({ type }: SettingSpec, value: SettingValue, directory = "."): SettingValue {
  return type.kind === "path" ? resolve(directory, String(value)) : value;
}

function defaultOf(name: SettingName): ResolvedSetting {
  const { default: value } = specOf(name);
  return { name, source: "default", from: null, value: value ?? undefined };
}
