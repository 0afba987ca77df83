import { expect, test } from "vitest";
import { allPages } from "./all-pages.ts";

const answers = (pages: readonly object[]) => {
  const left = [...pages];
  return async () => left.shift() as { readonly turns: readonly number[]; readonly nextCursor: string | null };
};

test("all pages are read, in order", async () => {
  const read = answers([
    { turns: [1, 2], nextCursor: "c" },
    { turns: [3], nextCursor: null },
  ]);
  expect(await allPages("turns", read)).toEqual([1, 2, 3]);
});

test("an answer without a cursor is the last, also of another server", async () => {
  expect(await allPages("turns", answers([{ turns: [1] }]))).toEqual([1]);
});

test("an answer without the list is reported as that of a server that is not Tessera", async () => {
  await expect(allPages("turns", answers([{}]))).rejects.toMatchObject({
    code: "protocol_violation",
    message: "the server answered without a list of turns",
  });
});
