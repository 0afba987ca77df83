import { expect, it } from "vitest";
import { alignRows, cellOf } from "./align-rows.ts";

it("rows are aligned: text to the left, numbers to the right, nothing after the last cell", () => {
  const rows = [
    { id: "call_1", status: "received", count: 0 },
    { id: "call_22", status: "applied", count: 12 },
  ];
  expect(alignRows(rows, "  ")).toBe(
    ["  id       status    count", "  call_1   received      0", "  call_22  applied      12", ""].join("\n"),
  );
});

it("a row without a column has a dash in it", () => {
  expect(alignRows([{ a: 1, b: "x" }, { a: null }])).toBe("a  b\n1  x\n-  -\n");
});

it.each([
  [null, "-"],
  ["", ""],
  [{ a: [1] }, '{"a":[1]}'],
  ["line\nline\u001b[31m", "line\\u000aline\\u001b[31m"],
  ["\u202egnp.exe", "\\u202egnp.exe"],
  ["x".repeat(200), `${"x".repeat(79)}…`],
])("a cell cannot disturb the terminal or the table: %j", (value, cell) => {
  expect(cellOf(value)).toBe(cell);
});
