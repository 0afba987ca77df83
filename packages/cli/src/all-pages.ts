// Everything of a list of the API, page by page.

type Paged<Plural extends string, Item> = Readonly<Record<Plural, readonly Item[]>> & {
  readonly next_cursor: string | null;
};

export async function allPages<Plural extends string, Item>(
  plural: Plural,
  read: (page: { readonly cursor?: string }) => Promise<Paged<Plural, Item>>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Paged<Plural, Item> = await read(cursor === undefined ? {} : { cursor });
    items.push(...page[plural]);
    cursor = page.next_cursor;
  }
  return items;
}
