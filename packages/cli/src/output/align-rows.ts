// Rows as aligned text, as wide as its terminal.
//
//   A1. Numbers are aligned to the right, everything else to the left; nothing follows the last cell.
//   A2. Where the columns do not fit, those without a value go first. Then ids are cut from the front, because their ends tell
//       them apart, then long texts; the last column is broken between words instead, where there is room for it.
//   A3. Cells hold text of others: one line each, and nothing in them acts on the terminal (printing-gate.ts, G1).

import { visibleLine } from "@tessera/protocol";
import { cutText, padText, textWidth } from "./text-width.ts";
import { wrapWords } from "./wrap-words.ts";

export type Row = Readonly<Record<string, unknown>>;

interface TableOptions {
  readonly indent?: string;
  /** Columns of ids. */
  readonly ids?: readonly string[];
  /** How wide the terminal is; without one nothing is cut to fit. */
  readonly columns?: number | undefined;
}

interface Column {
  readonly name: string;
  readonly cells: readonly string[];
  readonly isRight: boolean;
  readonly isId: boolean;
  width: number;
}

const CELL_CHARS_MAX = 80;
const GAP = "  ";
const NONE = "-";
/** How narrow a column is made, one after the other (A2). */
const ID_WIDTHS = [16, 9] as const;
const TEXT_WIDTHS = [24, 12, 8] as const;
const WRAPPED_WIDTH_MIN = 24;

/** A header and one line per row, each after `indent`. */
export function alignRows(rows: readonly Row[], options: TableOptions = {}): string {
  const { indent = "", ids = [], columns = Number.POSITIVE_INFINITY } = options;
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))].map((name) => columnOf(name, rows, ids));
  const table = fitted(all, columns - indent.length);
  const room = columns - indent.length;
  const line = (cellOf: (column: Column) => string) => {
    const cells = table.map((column) => {
      const isLast = column === table.at(-1) && isWrapped(column); // A2
      return padText(
        isLast ? cellOf(column) : cutText(cellOf(column), column.width, column.isId),
        column.width,
        column.isRight,
      );
    });
    const hang = indent.length + widthOf(table.slice(0, -1)) + (table.length > 1 ? GAP.length : 0);
    const text = `${indent}${cells.join(GAP).trimEnd()}`;
    return `${textWidth(text) > room + indent.length ? wrapWords([{ text }], hang, columns) : text}\n`;
  };
  return line(({ name }) => name) + rows.map((_, n) => line(({ cells }) => cells[n] ?? "")).join("");
}

function columnOf(name: string, rows: readonly Row[], ids: readonly string[]): Column {
  const cells = rows.map((row) => cellOf(row[name]));
  const title = cellOf(name);
  const isRight = rows.every((row) => typeof row[name] === "number"); // A1
  const width = naturalWidth({ name: title, cells });
  return { name: title, cells, isRight, isId: ids.includes(name), width };
}

function naturalWidth({ name, cells }: Pick<Column, "name" | "cells">): number {
  return Math.max(...[name, ...cells].map(textWidth));
}

/** A2 */
function fitted(all: readonly Column[], room: number): readonly Column[] {
  if (widthOf(all) <= room) return all;
  const table = all.filter(({ cells }) => cells.some((cell) => cell !== NONE));
  const last = table.at(-1);
  const narrow = (column: Column, width: number) => {
    const excess = widthOf(table) - room;
    if (excess > 0)
      column.width = Math.max(Math.min(column.width, width), column.width - excess, textWidth(column.name));
  };
  if (last !== undefined && isWrapped(last)) narrow(last, WRAPPED_WIDTH_MIN);
  for (const [n, width] of TEXT_WIDTHS.entries()) {
    for (const column of table.filter(({ isId }) => isId).toReversed()) narrow(column, ID_WIDTHS[n] ?? width);
    const texts = table.filter(({ isId, isRight, cells }) => !isId && !isRight && !cells.every(isTime));
    for (const column of texts.toSorted((a, b) => b.width - a.width)) narrow(column, width);
  }
  if (last?.isId && widthOf(table) > room) last.width = naturalWidth(last); // it goes below, where there is room for it
  return table;
}

function isWrapped({ isId, isRight }: Column): boolean {
  return !isId && !isRight;
}

/** Of no use when it is cut. */
function isTime(cell: string): boolean {
  return cell === NONE || /^\d{4}-\d\d-\d\dT|^\d+\.\d+ s$/.test(cell);
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { width }) => sum + width, 0) + GAP.length * Math.max(0, columns.length - 1);
}

export function cellOf(value: unknown): string {
  if (value === null || value === undefined) return NONE;
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
  return cutText(visibleLine(text), CELL_CHARS_MAX); // A3
}
