// One page of a list, as every list answers it: the rows, and a cursor when there are more.
//
//   L1. One row more than asked for is read, so that the last page says that it is the last.
//   L2. A cursor is good for the list it was written for: the same project, the same filters.

import type { PageCursors } from "./page-cursor.ts";
import type { ApiAnswer, ApiRequest } from "./route-spec.ts";

export interface PagedList<Row> {
  /** Names the list with its filters, for L2. */
  readonly list: string;
  /** What the rows are called in the answer. */
  readonly plural: string;
  readonly limit: number;
  /** Where a row stands in the order of the list. */
  placeOf(row: Row): string;
  /** Rows behind a place, or the first ones. */
  read(after: string | undefined, limit: number): Promise<readonly Row[]>;
  /** Default: the row itself. */
  show?(row: Row): unknown;
}

export async function answerPage<Row>(
  cursors: PageCursors,
  request: ApiRequest,
  paged: PagedList<Row>,
): Promise<ApiAnswer> {
  const { list, plural, limit, placeOf, read, show = (row: Row) => row } = paged;
  const { cursor } = request.query;
  const after = cursor === undefined ? undefined : cursors.read(list, cursor); // L2
  const rows = await read(after, limit + 1); // L1
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const next = rows.length > limit && last !== undefined ? cursors.write(list, placeOf(last)) : null;
  return { status: 200, body: { [plural]: page.map(show), next_cursor: next } };
}

/** A place of two parts, e.g. a time and an id; neither holds a line break. */
export const joinPlace = (first: string, second: string): string => `${first}\n${second}`;

export function splitPlace(place: string): readonly [string, string] {
  const [first = "", second = ""] = place.split("\n");
  return [first, second];
}
