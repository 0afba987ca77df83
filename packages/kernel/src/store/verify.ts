// The invariants of a store, run as queries (sql/invariants). A row found is a violation, and says which.

import type { Clock, Database, Row } from "../ports.ts";
import { parseNamedQueries, readSqlFolder } from "./sql-files.ts";

export type InvariantKind = "safety" | "liveness" | "overdue";

export interface Invariant {
  readonly name: string;
  readonly kind: InvariantKind;
  readonly says: string;
  readonly text: string;
}

/** An invariant that does not hold, with the rows that break it. */
export interface Violation {
  readonly invariant: string;
  readonly kind: InvariantKind;
  readonly says: string;
  /** How many rows offend. */
  readonly found: number;
  /** The first ROWS_SHOWN_MAX of them. */
  readonly rows: readonly Row[];
}

/** The invariants of a store that were checked, and those that do not hold. */
export interface VerifyReport {
  readonly checked: number;
  readonly violations: readonly Violation[];
}

const ROWS_SHOWN_MAX = 20;

export const INVARIANTS: readonly Invariant[] = readSqlFolder("invariants")
  .flatMap(parseNamedQueries)
  .map((query) => ({
    name: query.name,
    kind: query.attributes.kind as InvariantKind,
    says: query.attributes.says ?? "",
    text: query.text,
  }));

/** Live: safety, and what is overdue. Drained: safety and liveness, when nothing should be under way any more. */
export async function verifyStore(
  database: Database,
  options: { drained?: boolean; clock?: Clock; only?: InvariantKind } = {},
): Promise<VerifyReport> {
  const kinds: readonly InvariantKind[] =
    options.only !== undefined
      ? [options.only]
      : options.drained === true
        ? ["safety", "liveness"]
        : ["safety", "overdue"];
  const invariants = INVARIANTS.filter((invariant) => kinds.includes(invariant.kind));
  const now = options.clock?.databaseTime()?.toISOString() ?? "now";
  const violations: Violation[] = [];
  // One snapshot for all of them: two queries at two moments could disagree about a store that is at work.
  await database.transaction(async (tx) => {
    await tx.script("set transaction isolation level repeatable read, read only");
    for (const { name, kind, says, text } of invariants) {
      const rows = await tx.query(text, kind === "overdue" ? [now] : []);
      if (rows.length > 0)
        violations.push({ invariant: name, kind, says, found: rows.length, rows: rows.slice(0, ROWS_SHOWN_MAX) });
    }
  });
  return { checked: invariants.length, violations };
}
