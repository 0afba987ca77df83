// What doctor found, for people: one line for each check, under it what to do.

import type { Check } from "@tessera/runtime";
import { alignRows } from "./align-rows.ts";
import { coloured } from "./validate-formats.ts";
import { visibleLine } from "./visible-text.ts";

const COLOURS: Readonly<Record<Check["status"], number>> = { ok: 32, warn: 33, fail: 31 };
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
  { isColoured, isAll }: { readonly isColoured: boolean; readonly isAll: boolean },
): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(({ name, status, found, fix }) => {
    const mark = coloured(status.padEnd(STATUS_WIDTH), COLOURS[status], isColoured);
    const todo = fix === null ? "" : `${" ".repeat(STATUS_WIDTH + width + 4)}→ ${visibleLine(fix)}\n`;
    return `${mark}  ${name.padEnd(width)}  ${visibleLine(found)}\n${todo}`;
  });
  return `${lines.join("")}\n${settingsText(settings, isAll)}${doctorSum(checks)}\n`;
}

function settingsText(settings: readonly ShownSetting[], isAll: boolean): string {
  if (settings.length === 0) return "";
  const shown = settings.filter(({ source }) => isAll || source !== "default");
  const rows = shown.map((each) => ({ ...each, value: each.value || null }));
  const table = rows.length === 0 ? "" : `Settings:\n${alignRows(rows, "  ")}`;
  const left = settings.length - shown.length;
  if (left === 0) return `${table}\n`;
  const more = shown.length === 0 ? `All ${left} settings are at their defaults` : `${left} more at their defaults`;
  return `${table}${shown.length === 0 ? "" : "  "}${more}; --all shows them\n\n`;
}

export function doctorSum(checks: readonly Check[]): string {
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length;
  const [warned, failed] = [count("warn"), count("fail")];
  const parts = [`${checks.length} checks`, failed === 0 ? "nothing failed" : `${failed} failed`];
  return [...parts, ...(warned === 0 ? [] : [`${warned} with a warning`])].join(", ");
}
