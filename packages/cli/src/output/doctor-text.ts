// What doctor found, for people: one line for each check, under it what to do.

import { visibleLine } from "@tessera/protocol";
import type { Check } from "@tessera/runtime";
import { type Colour, type Line, sentence, type Table, type Text } from "./printing-gate.ts";

const COLOURS: Readonly<Record<Check["status"], Colour>> = { ok: "green", warn: "yellow", fail: "red" };
const STATUS_WIDTH = 4;

/** A setting and where its value comes from. Secrets are not in it. */
interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

export function doctorText(
  checks: readonly Check[],
  settings: readonly ShownSetting[],
  { isAll }: { readonly isAll: boolean },
): Text {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const hang = STATUS_WIDTH + width + 4;
  const lines = checks.flatMap(({ name, status, found, fix }): Line[] => {
    const mark = { text: status.padEnd(STATUS_WIDTH), colour: COLOURS[status] };
    const said = { line: [mark, `  ${name.padEnd(width)}  ${visibleLine(found)}`], hang };
    return fix === null ? [said] : [said, { line: [`${" ".repeat(hang)}→ ${visibleLine(fix)}`], hang: hang + 2 }];
  });
  return [...lines, "\n", ...settingsText(settings, isAll), `${doctorSum(checks)}\n`];
}

function settingsText(settings: readonly ShownSetting[], isAll: boolean): (string | Table | Line)[] {
  if (settings.length === 0) return [];
  const shown = settings.filter(({ source }) => isAll || source !== "default");
  const rows = shown.map((each) => ({ ...each, value: each.value || null }));
  const table = rows.length === 0 ? [] : ["Settings:\n", { rows, indent: "  " }];
  const left = settings.length - shown.length;
  if (left === 0) return [...table, "\n"];
  const more = shown.length === 0 ? `All ${left} settings are at their defaults` : `  ${left} more at their defaults`;
  return [...table, sentence(`${more}; --all shows them`), "\n"];
}

function doctorSum(checks: readonly Check[]): string {
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length;
  const [warned, failed] = [count("warn"), count("fail")];
  const parts = [`${checks.length} checks`, failed === 0 ? "nothing failed" : `${failed} failed`];
  return [...parts, ...(warned === 0 ? [] : [`${warned} with a warning`])].join(", ");
}
