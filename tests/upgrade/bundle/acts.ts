// Tools that write what they do to `ledger.jsonl` beside them, and hang while a file `hang` lies there.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ReconcileCall, ToolContext } from "@tessera/tool";

const LEDGER = join(import.meta.dirname, "ledger.jsonl");
const HANG = join(import.meta.dirname, "hang");

const act = (name: string) => async (ctx: ToolContext, input: { readonly of: string }) => {
  appendFileSync(LEDGER, `${JSON.stringify({ name, of: input.of, key: ctx.idempotencyKey, attempt: ctx.attempt })}\n`);
  if (existsSync(HANG)) await new Promise(() => setInterval(() => undefined, 1_000));
  return { name, attempt: ctx.attempt };
};

export const handlers = Object.fromEntries(
  ["read", "idempotent", "once", "reconciled"].map((name) => [name, act(name)]),
);

export const reconcilers = {
  reconciled: (ctx: ToolContext, call: ReconcileCall) =>
    existsSync(LEDGER) && readFileSync(LEDGER, "utf8").includes(call.idempotencyKey)
      ? { outcome: "done", output: { name: "reconciled", attempt: ctx.attempt } }
      : { outcome: "not_done" },
};
