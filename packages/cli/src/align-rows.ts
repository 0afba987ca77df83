// Rows as aligned text. What is in them was written by others: control characters are shown, never sent to the terminal.

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
  // C0, DEL and C1 controls, and what reverses the direction of a line.
  const visible = text.replace(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    return `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
  const chars = [...visible];
  return chars.length > CELL_CHARS_MAX ? `${chars.slice(0, CELL_CHARS_MAX - 1).join("")}…` : visible;
}
