// The 97 rows of bad input, and where each is shown. tests/security/rows.test.ts holds that the pointers point;
// docs/reference/security.md is generated from them.

import { BUS_ROWS } from "./bus.ts";
import { HTTP_ROWS } from "./http.ts";
import type { Row } from "./row.ts";
import { CARD_ROWS, REPORT_ROWS, TOOL_ROWS } from "./work.ts";
import { YAML_ROWS } from "./yaml.ts";

export { CONDITIONAL, conditionOf, FILES, type FileName, type Row } from "./row.ts";

export interface Boundary {
  readonly letter: string;
  readonly name: string;
  readonly count: number;
  readonly rows: readonly Row[];
}

export const BOUNDARIES: readonly Boundary[] = [
  { letter: "N", name: "The bus", count: 23, rows: BUS_ROWS },
  { letter: "H", name: "HTTP", count: 22, rows: HTTP_ROWS },
  { letter: "Y", name: "Uploaded documents", count: 17, rows: YAML_ROWS },
  { letter: "T", name: "A model's arguments", count: 13, rows: TOOL_ROWS },
  { letter: "C", name: "Cards", count: 7, rows: CARD_ROWS },
  { letter: "R", name: "Reports", count: 15, rows: REPORT_ROWS },
];
