// Rows as aligned text.

import { visibleLine } from "./visible-text.ts";

type Row = Readonly<Record<string, unknown>>;

const CELL_CHARS_MAX = 80;
const GAP = "  ";

/** A header and one line per row, each after `indent`; numbers are aligned to the right. */
export function alignRows(rows: readonly Row[], indent = ""): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const table = columns.map((name) => {
    const cells = rows.map((row) => cellOf(row[name]));
    const isNumeric = rows.every((row) => typeof row[name] === "number");
    const width = Math.max(...[name, ...cells].map((cell) => [...cell].length));
    return { name, cells, pad: (cell: string) => (isNumeric ? cell.padStart(width) : cell.padEnd(width)) };
  });
  const line = (cells: readonly string[]) => `${indent}${cells.join(GAP).trimEnd()}\n`;
  const header = line(table.map((column) => column.pad(column.name)));
  return header + rows.map((_, n) => line(table.map((column) => column.pad(column.cells[n] ?? "")))).join("");
}

export function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "-";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  const chars = [...visibleLine(text)];
  return chars.length > CELL_CHARS_MAX ? `${chars.slice(0, CELL_CHARS_MAX - 1).join("")}…` : chars.join("");
}
