import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestContext } from "@tessera/tessera/testing";
import { titlesSlug } from "./tessera.config.ts";

test("a title becomes a slug", async () => {
  const context = createTestContext();
  const { status, output } = await context.call(titlesSlug, { title: "Hello Porto" });
  await context.dispose();
  assert.equal(status, "ok");
  assert.equal(JSON.stringify(output), '{"slug":"hello-porto"}');
});
