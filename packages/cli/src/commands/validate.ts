// tessera validate: what is wrong with a bundle, before it runs.
//
//   V1. Exit 0 without a mistake, 3 with one; --strict counts warnings as mistakes. Notes never count.
//   V2. Files are named as seen from the current directory, so that an editor and GitHub find them.
//   V3. For a program every answer has one form: a bundle that cannot be read at all is a finding, too.

import { resolve } from "node:path";
import { TesseraError } from "@tessera/protocol";
import type { BundleReport, Finding } from "@tessera/runtime";
import { type Command, Option } from "commander";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { describeFailure } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { shownPath } from "../output/shown-path.ts";
import { githubOf, sumOf, textOf, VALIDATE_FORMATS, type ValidateFormat } from "../output/validate-formats.ts";
import type { ProgramParts } from "../program.ts";
import { bundleHere, noBundleHere } from "./bundle-here.ts";

interface ValidateFlags {
  readonly format: ValidateFormat;
  readonly strict?: boolean;
  readonly json?: boolean;
}

const VALIDATE_HELP = `
Checks what can be known without running anything: YAML, names, references,
schemas, entries and their handlers, models' keys. Modules of tools and
extensions are imported in a child process to see what they export; a
tessera.config.ts is imported here. A single YAML file is read as a bundle of
its own. Exits 3 if there is any mistake.

Examples:
  $ tessera validate ./bundle
  $ tessera validate ./bundle --strict --format github
  $ tessera validate agent.yaml --json`;

export function defineValidate(command: Command, { terminal, onExit }: ProgramParts): void {
  command
    .argument("[bundle]", "a directory or a YAML file (default: the current directory, if it holds a bundle)")
    .addOption(new Option("--format <name>", "how findings are printed").choices([...VALIDATE_FORMATS]).default("text"))
    .option("--strict", "warnings count as mistakes")
    .option("--json", "the same as --format json")
    .addHelpText("after", VALIDATE_HELP)
    .action(async (bundle: string | undefined, flags: ValidateFlags) =>
      onExit(await validate(bundle, flags, terminal)),
    );
}

async function validate(given: string | undefined, flags: ValidateFlags, terminal: Terminal): Promise<ExitCode> {
  const format = flags.json === true ? "json" : flags.format;
  const report = counted(await reportOf(given, format, terminal), flags.strict === true);
  const isOk = report.findings.every(({ severity }) => severity !== "error");
  if (format === "json") terminal.out(`${JSON.stringify({ ok: isOk, ...report })}\n`);
  else if (format === "github") terminal.out(`${githubOf(report)}${sumOf(report)}\n`);
  else terminal.out(textOf(report));
  return isOk ? EXIT.ok : EXIT.configuration; // V1
}

async function reportOf(given: string | undefined, format: ValidateFormat, terminal: Terminal): Promise<BundleReport> {
  const bundle = given ?? bundleHere();
  try {
    if (bundle === undefined) throw noBundleHere("or a YAML file");
    const { validateBundle } = await import("@tessera/runtime");
    const report = await validateBundle(bundle, { env: terminal.env });
    const shown = ({ file }: Finding) => shownPath(resolve(report.root, file)); // V2
    return { ...report, findings: report.findings.map((finding) => ({ ...finding, file: shown(finding) })) };
  } catch (error) {
    if (format === "text" || !TesseraError.is(error)) throw error;
    return unreadable(bundle ?? ".", error); // V3
  }
}

function unreadable(bundle: string, error: TesseraError): BundleReport {
  const { code, message } = describeFailure(error);
  const place = { file: shownPath(bundle), line: 1, column: 1, pointer: "" };
  const counts = { agents: 0, tools: 0, models: 0, swarms: 0, extensions: 0 };
  const finding = { severity: "error", code, ...place, message, expected: null, found: null } as const;
  return { root: resolve(bundle), counts, findings: [finding] };
}

function counted(report: BundleReport, isStrict: boolean): BundleReport {
  if (!isStrict) return report;
  const severe = (finding: Finding): Finding =>
    finding.severity === "warning" ? { ...finding, severity: "error" } : finding;
  return { ...report, findings: report.findings.map(severe) };
}
