import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestContext } from "@tessera/tessera/testing";
import { handlers } from "./words.ts";

test("counts the words of a text and names the longest", (t) => {
  const context = createTestContext();
  t.after(() => context.dispose());
  assert.deepEqual(handlers.count(context.ctx, { text: "a stitch in time" }), { words: 4, longest: "stitch" });
});
