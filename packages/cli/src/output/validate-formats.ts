// Findings as people, programs and GitHub read them.
//
//   F1. Text is aligned. On a terminal too narrow for a line of each, the message stands below its place.
//   F2. A workflow command is one line: whatever could end it or start another is escaped as GitHub's runner reads it.

import { visibleLine } from "@tessera/protocol";
import type { BundleReport, Finding } from "@tessera/runtime";
import { type Colour, type Line, sentence, type Text } from "./printing-gate.ts";

export const VALIDATE_FORMATS = ["text", "json", "github"] as const;
export type ValidateFormat = (typeof VALIDATE_FORMATS)[number];

const COLOURS: Readonly<Record<Finding["severity"], Colour>> = { error: "red", warning: "yellow", info: "cyan" };
const COMMANDS: Readonly<Record<Finding["severity"], string>> = { error: "error", warning: "warning", info: "notice" };

const HANG = 4;

/** One line for each finding, and the sum. */
export function textOf(report: BundleReport): Text {
  return [...findingLines(report.findings), sentence(sumOf(report))];
}

export function findingLines(findings: readonly Finding[]): Line[] {
  const rows = findings.map((finding) => ({
    place: visibleLine(`${finding.file}:${finding.line}:${finding.column}`),
    severity: finding.severity,
    code: finding.code,
    message: visibleLine(finding.message),
  }));
  const widthOf = (key: "place" | "severity" | "code") => Math.max(0, ...rows.map((row) => row[key].length));
  const width = { place: widthOf("place"), severity: widthOf("severity"), code: widthOf("code") };
  return rows.map((row) => {
    const severity = { text: row.severity.padEnd(width.severity), colour: COLOURS[row.severity] };
    const place = `${row.place.padEnd(width.place)}  `;
    return { line: [place, severity, `  ${row.code.padEnd(width.code)}  ${row.message}`], hang: HANG };
  });
}

/** `3 agents, 5 tools: no mistakes`. */
export function sumOf({ counts, findings }: BundleReport): string {
  const { agents, tools, ...others } = counts;
  const shown = { agents, tools, ...Object.fromEntries(Object.entries(others).filter(([, count]) => count > 0)) };
  const held = Object.entries(shown).map(([name, count]) => several(count as number, name.replace(/s$/, "")));
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const warnings = findings.filter(({ severity }) => severity === "warning").length;
  const mistakes = errors === 0 ? "no mistakes" : several(errors, "mistake");
  return `${held.join(", ")}: ${mistakes}${warnings === 0 ? "" : `, ${several(warnings, "warning")}`}`;
}

export function githubOf({ findings }: Pick<BundleReport, "findings">): string {
  const lines = findings.map(({ severity, file, line, column, code, message }) => {
    const properties = { file, line, col: column, title: code };
    const words = Object.entries(properties).map(([name, value]) => `${name}=${escapeProperty(String(value))}`);
    return `::${COMMANDS[severity]} ${words.join(",")}::${escapeData(message)}\n`; // F2
  });
  return lines.join("");
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

export function several(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
