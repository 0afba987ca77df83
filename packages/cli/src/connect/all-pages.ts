// Everything of a list of the API, page by page.
//
//   P1. What answers may be no Tessera: an answer without the list is an error, and one without a cursor is the last.

import { EXIT } from "../exit-codes.ts";
import { errorWithTodo } from "../output/failure.ts";

type Paged<Plural extends string, Item> = Readonly<Record<Plural, readonly Item[]>> & {
  readonly nextCursor: string | null;
};

export async function allPages<Plural extends string, Item>(
  plural: Plural,
  read: (page: { readonly cursor?: string }) => Promise<Paged<Plural, Item>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Paged<Plural, Item> = await read(cursor === undefined ? {} : { cursor });
    items.push(...itemsOf(page, plural));
    cursor = page.nextCursor ?? null; // P1
  }
  return items;
}

/** P1 */
export function itemsOf<Plural extends string, Item>(page: Paged<Plural, Item>, plural: Plural): readonly Item[] {
  const items: unknown = page[plural];
  if (Array.isArray(items)) return items;
  throw errorWithTodo(
    "protocol_violation",
    `the server answered without a list of ${plural}`,
    "Correct --url or TESSERA_URL: what answers there is not Tessera's API.",
    EXIT.configuration,
  );
}
