// The settings of a command that runs a bundle: its flags, then TESSERA_ variables, then the bundle's own, then defaults.
//
//   S1. One table says what there is (@tessera/runtime, settings); nothing here knows a name or a default of its own.
//   S2. A mistake names where it stands. On the command line it is a usage error, elsewhere one of configuration.

import { existsSync } from "node:fs";
import { BadRequest } from "@tessera/protocol";
import {
  type ResolvedSettings,
  readSettingsFile,
  resolveSettings,
  SETTING_NAMES,
  type SettingProblem,
  type Settings,
} from "@tessera/runtime";
import { usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { HostFlags } from "./flags.ts";

interface HostSettings<Flags extends HostFlags> {
  /** With the project, and the store or server, that are in effect, wherever they are set. */
  readonly flags: Flags;
  readonly values: Settings;
  /** Those that are not set have the source `default`. */
  readonly sourceOf: (name: keyof Settings) => ResolvedSettings["settings"][number]["source"];
}

export async function hostSettings<Flags extends HostFlags>(
  given: Flags,
  terminal: Pick<Terminal, "env">,
  { bundle, isServing = false }: { readonly bundle: string | undefined; readonly isServing?: boolean },
): Promise<HostSettings<Flags>> {
  // A bundle that is not there is an error where it is loaded.
  const file = bundle !== undefined && existsSync(bundle) ? await readSettingsFile(bundle) : null;
  const names = SETTING_NAMES.filter((name) => !isServing || name !== "url"); // a process that serves asks no other
  const { values, settings, problems } = resolveSettings({
    flags: given as object as Readonly<Record<string, unknown>>,
    env: terminal.env,
    file,
    names,
  });
  if (problems.length > 0) throw problemsError(problems);
  const { data, postgres, url, nats, project } = values;
  return {
    flags: { ...given, data, postgres, url, nats, project } as object as Flags,
    values,
    sourceOf: (name) => settings.find((each) => each.name === name)?.source ?? "default",
  };
}

/** S2 */
function problemsError(problems: readonly SettingProblem[]): Error {
  const said = problems.map(({ message }) => message).join("; ");
  return problems.every(({ source }) => source === "flag") ? usageError(said) : new BadRequest(said);
}
