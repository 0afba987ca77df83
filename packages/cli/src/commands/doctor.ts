// tessera doctor: is everything there that the other commands need, and if not, what to do.
//
//   D1. Exit 0 when nothing failed, 3 when configuration is at fault, 4 when only something cannot be reached.
//   D2. A setting that cannot be used is a check like the others, so that the rest is still looked at.
//   D3. A setting that was set is shown with where it comes from, the others with --all; JSON holds them all. Nothing
//       that is printed holds a password or a key.

import { existsSync, readFileSync } from "node:fs";
import { TesseraError } from "@tessera/protocol";
import type { Check, ResolvedSettings, SettingsFile } from "@tessera/runtime";
import type { Command } from "commander";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import { doctorText } from "../output/doctor-text.ts";
import { describeFailure } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { redact } from "../output/redact.ts";
import type { ProgramParts } from "../program.ts";
import { bundleHere } from "./bundle-here.ts";

interface DoctorFlags extends Omit<ApiFlags, "project"> {
  /** Undefined unless it was given. */
  readonly project?: string | undefined;
  readonly port?: string;
  readonly all?: boolean;
}

const DOCTOR_HELP = `
Looks at this machine, the store, the broker, who works and who may, and at a
bundle if there is one. Changes nothing. Each check is ok, warn or fail, with
what was found and what to do. Exits 0 if nothing failed, 3 if configuration is
at fault, 4 if something cannot be reached.

Examples:
  $ tessera doctor
  $ tessera doctor ./bundle --data ./store
  $ tessera doctor --postgres postgres://me@localhost:5432/tessera --nats nats://localhost:4222 --json`;

export function defineDoctor(command: Command, { terminal, onExit }: ProgramParts): void {
  addApiFlags(command)
    .argument("[bundle]", "a directory or a YAML file (default: the current directory, if it holds a bundle)")
    .option("--port <number>", "where the API would listen (default 8099)")
    .option("--all", "print every setting, also those at their defaults")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (bundle: string | undefined, flags: DoctorFlags, command: Command) => {
      // A default of the parser is no flag that was given: the settings know their own.
      const project = command.getOptionValueSource("project") === "cli" ? flags.project : undefined;
      onExit(await doctor(bundle, { ...flags, project }, terminal));
    });
}

async function doctor(given: string | undefined, flags: DoctorFlags, terminal: Terminal): Promise<ExitCode> {
  const { describeSettings, resolveSettings, runDoctor } = await import("@tessera/runtime");
  const { env } = terminal;
  const bundle = given ?? bundleHere();
  const file = await settingsFile(bundle);
  const resolved = resolveSettings({
    flags: flags as object as Readonly<Record<string, unknown>>,
    env,
    file: file instanceof Error ? null : file,
  });
  const { data, postgres, nats, url, project, host, port } = resolved.values;
  const key = keyOf(flags, terminal);
  const isPortGiven = resolved.settings.some(({ name, source }) => name === "port" && source !== "default");
  const looked = await runDoctor({
    data,
    postgres,
    nats,
    url,
    apiKey: typeof key === "string" ? key : undefined,
    project,
    host,
    port: url === undefined || isPortGiven ? port : undefined,
    bundle,
    env,
    node: { version: process.versions.node, path: process.execPath },
  });
  const checks = [...settingChecks(resolved, [file, key]), ...looked].map(redacted);
  const settings = describeSettings(resolved).map(({ name, value, source }) => ({ name, value, source })); // D3
  const failed = checks.filter(({ status }) => status === "fail");
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: failed.length === 0, checks, settings })}\n`);
  } else terminal.out(doctorText(checks, settings, { isAll: flags.all === true }));
  if (failed.length === 0) return EXIT.ok;
  return failed.some(({ fault }) => fault === "configuration") ? EXIT.configuration : EXIT.unreachable; // D1
}

/** An error becomes a check (D2). */
async function settingsFile(bundle: string | undefined): Promise<SettingsFile | TesseraError | null> {
  if (bundle === undefined || !existsSync(bundle)) return null;
  const { readSettingsFile } = await import("@tessera/runtime");
  try {
    return await readSettingsFile(bundle);
  } catch (error) {
    if (TesseraError.is(error)) return error;
    throw error;
  }
}

function keyOf({ apiKeyFile }: DoctorFlags, { env }: Terminal): string | undefined | Error {
  if (apiKeyFile === undefined) return env.TESSERA_API_KEY || undefined;
  try {
    return readFileSync(apiKeyFile, "utf8").trim();
  } catch (error) {
    return new Error(`cannot read ${apiKeyFile}: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
}

function settingChecks({ problems }: ResolvedSettings, maybeErrors: readonly unknown[]): Check[] {
  const said = [
    ...problems.map(({ message }) => message),
    ...maybeErrors.filter((each) => each instanceof Error).map((error) => sentenceOf(error)),
  ];
  const fix = "Correct what is named.";
  return said.map((found) => ({
    area: "settings",
    name: "settings",
    status: "fail",
    found,
    fix,
    fault: "configuration",
  }));
}

function sentenceOf(error: Error): string {
  return TesseraError.is(error) ? describeFailure(error).message : error.message;
}

function redacted(check: Check): Check {
  return { ...check, found: redact(check.found), fix: check.fix === null ? null : redact(check.fix) };
}
