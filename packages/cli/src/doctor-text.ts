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

export function doctorText(checks: readonly Check[], settings: readonly ShownSetting[], isColoured: boolean): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(({ name, status, found, fix }) => {
    const mark = coloured(status.padEnd(STATUS_WIDTH), COLOURS[status], isColoured);
    const todo = fix === null ? "" : `${" ".repeat(STATUS_WIDTH + width + 4)}→ ${visibleLine(fix)}\n`;
    return `${mark}  ${name.padEnd(width)}  ${visibleLine(found)}\n${todo}`;
  });
  const table =
    settings.length === 0
      ? ""
      : `\nSettings:\n${alignRows(
          settings.map((each) => ({ ...each, value: each.value || null })),
          "  ",
        )}`;
  return `${lines.join("")}${table}\n${doctorSum(checks)}\n`;
}

export function doctorSum(checks: readonly Check[]): string {
  const count = (status: Check["status"]) => checks.filter((check) => check.status === status).length;
  const [warned, failed] = [count("warn"), count("fail")];
  const parts = [`${checks.length} checks`, failed === 0 ? "nothing failed" : `${failed} failed`];
  return [...parts, ...(warned === 0 ? [] : [`${warned} with a warning`])].join(", ");
}
