// Query text as values: numbers, ids, words and times, each refused by its name when it is not one.
//
//   Q1. A value is taken as it is written or refused: no trimming, no rounding, no second spelling.
//   Q2. Nothing that a client writes becomes part of a statement; a word that is not on a list is refused before the store
//       is asked.

import { BadRequest, parseCanonicalInteger, parseId } from "@tessera/protocol";

export type Query = Readonly<Record<string, string>>;

export const TEXT_CHARS_MAX = 128;
const TRACE_ID = /^[0-9a-f]{32}$/;
// PostgreSQL knows no zone that is sixteen hours or more from UTC.
const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d{1,6})?(?:Z|[+-](?:0\d|1[0-5]):\d\d)$/;

export function limitOf(
  query: Query,
  { max, default: usual }: { readonly max: number; readonly default: number },
): number {
  if (query.limit === undefined) return usual;
  const limit = parseCanonicalInteger(query.limit);
  if (limit !== null && limit >= 1 && limit <= max) return limit;
  throw refuse("limit", `limit must be a whole number from 1 to ${max}`);
}

export function idIn(query: Query, name: string): string | undefined {
  return query[name] === undefined ? undefined : parseId<never>(query[name], name);
}

/** The given ids by their names, without those that are not given. */
export function idsIn<Name extends string>(query: Query, names: readonly Name[]): { readonly [N in Name]?: string } {
  return given(Object.fromEntries(names.map((name) => [name, idIn(query, name)]))) as { readonly [N in Name]?: string };
}

export function wordIn<Word extends string>(query: Query, name: string, words: readonly Word[]): Word | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  const word = words.find((each) => each === text);
  if (word === undefined) throw refuse(name, `${name} must be one of ${words.join(", ")}`);
  return word;
}

export function flagIn(query: Query, name: string): boolean | undefined {
  const word = wordIn(query, name, ["true", "false"]);
  return word === undefined ? undefined : word === "true";
}

/** A name chosen by users, such as a tag. */
export function textIn(query: Query, name: string): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (text !== "" && text.length <= TEXT_CHARS_MAX && !/\p{Cc}/u.test(text) && text.isWellFormed()) return text;
  throw refuse(name, `${name} must be 1 to ${TEXT_CHARS_MAX} characters without control characters`);
}

export function traceIdIn(query: Query, name = "trace_id"): string | undefined {
  const text = query[name];
  if (text === undefined || TRACE_ID.test(text)) return text;
  throw refuse(name, `${name} must be 32 lower-case hexadecimal digits`);
}

/** An ISO time with its zone, as text: the store keeps more digits than a Date does. */
export function timeIn(query: Query, name: string): string | undefined {
  const text = query[name];
  if (text === undefined) return undefined;
  if (isTime(text)) return text;
  throw refuse(name, `${name} must be a time such as 2026-01-31T08:00:00Z (write + as %2B)`);
}

/** Without the fields that are not there. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

function isTime(text: string): boolean {
  const [, year, month, day] = TIME.exec(text) ?? [];
  if (year === undefined || year === "0000" || Number.isNaN(Date.parse(text))) return false;
  // Date.parse takes February 30 for March 2; the calendar does not.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

function refuse(field: string, message: string): BadRequest {
  return new BadRequest(message, { details: { field } });
}
