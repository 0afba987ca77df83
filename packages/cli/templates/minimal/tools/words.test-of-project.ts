import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestContext } from "@tessera/tessera/testing";
import { handlers } from "./words.ts";

test("counts the words of a text, and says so in the log", (t) => {
  const context = createTestContext();
  t.after(() => context.dispose());
  assert.deepEqual(handlers.count(context.ctx, { text: " a stitch in time " }), { words: 4 });
  assert.deepEqual(context.logs, [{ level: "info", message: "words counted: 4" }]);
});

test("refuses a text without words", (t) => {
  const context = createTestContext();
  t.after(() => context.dispose());
  assert.throws(() => handlers.count(context.ctx, { text: " " }), /the text is empty/);
});
