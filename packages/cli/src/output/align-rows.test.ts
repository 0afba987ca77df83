import { expect, it } from "vitest";
import { alignRows, cellOf } from "./align-rows.ts";

it("rows are aligned: text to the left, numbers to the right, nothing after the last cell", () => {
  const rows = [
    { id: "call_1", status: "received", count: 0 },
    { id: "call_22", status: "applied", count: 12 },
  ];
  expect(alignRows(rows, { indent: "  " })).toBe(
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

const TURNS = [
  { agent: "planner", status: "success", created: "2026-11-18T18:32:57Z", took: "5.95 s", error: null, turn: TURN(1) },
  {
    agent: "guide",
    status: "failed",
    created: "2026-11-18T18:32:57Z",
    took: null,
    error: "tool_timeout",
    turn: TURN(2),
  },
];

function TURN(n: number): string {
  return `turn_01a1efeef3d97501b59251535286ad${n}${n}`;
}

it("fits its terminal: columns without a value go, ids keep their ends; without a terminal everything is whole", () => {
  const table = (columns?: number) => alignRows(TURNS, { ids: ["turn"], columns });
  expect(table()).toContain(TURN(1));
  expect(table(120)).toBe(table());
  expect([80, 60].map((columns) => `\n${table(columns)}`)).toMatchInlineSnapshot(`
    [
      "
    agent    status   created               took    error         turn
    planner  success  2026-11-18T18:32:57Z  5.95 s  -             …1b59251535286ad11
    guide    failed   2026-11-18T18:32:57Z  -       tool_timeout  …1b59251535286ad22
    ",
      "
    agent    status   created               took    error
        turn
    planner  success  2026-11-18T18:32:57Z  5.95 s  -
        turn_01a1efeef3d97501b59251535286ad11
    guide    failed   2026-11-18T18:32:57Z  -       tool_ti…
        turn_01a1efeef3d97501b59251535286ad22
    ",
    ]
  `);
  for (const columns of [60, 80, 100]) {
    const lines = table(columns).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
  }
  const [first] = TURNS;
  expect(alignRows([first ?? {}], { ids: ["turn"], columns: 90 })).not.toContain("error");
});

it("breaks a last column of text between words", () => {
  const rows = [
    { tool: "tickets__buy", version: 1, description: "Buys a train ticket. It is paid, so it happens once." },
  ];
  expect(alignRows(rows, { columns: 50 })).toBe(
    "tool          version  description\ntickets__buy        1  Buys a train ticket. It is\n                       paid, so it happens once.\n",
  );
});

it("aligns letters that are twice as wide, and marks that take no room", () => {
  expect(
    alignRows([
      { a: "日本", b: 1 },
      { a: "e\u0301", b: 2 },
      { a: "👩‍👧", b: 3 },
    ]),
  ).toBe("a     b\n日本  1\ne\u0301     2\n👩‍👧    3\n");
});
