import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestContext } from "@tessera/tessera/testing";
import { handlers } from "./shelf.ts";

test("finds a book on any topic", (t) => {
  const context = createTestContext();
  t.after(() => context.dispose());
  assert.deepEqual(handlers.find(context.ctx, { topic: "history of tea" }), { book: '"A short history of tea"' });
});
