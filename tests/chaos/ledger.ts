// What the tools of a chaos run did, read back from where they left it (chaos-bundle.ts, B1 and B2).

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { EffectLedger } from "../sim/effect-ledger.ts";
import { LEDGER_FILE } from "./chaos-bundle.ts";

export interface LedgerLine {
  readonly tool_call_id: string;
  readonly tool: string;
  readonly key: string;
  readonly attempt: number;
}

export function readLedger(place: string): EffectLedger {
  const file = join(place, LEDGER_FILE);
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n") : [];
  const decisions = join(place, "decisions");
  const decided = readdirSync(decisions)
    .filter((name) => !name.startsWith("."))
    .map((name) => readFileSync(join(decisions, name), "utf8"));
  const ledger = new EffectLedger();
  for (const text of [...lines, ...decided].filter((each) => each !== "")) {
    const { tool_call_id, tool, key, attempt } = JSON.parse(text) as LedgerLine;
    ledger.apply(tool_call_id, { toolName: tool, idempotencyKey: key, attempt });
  }
  return ledger;
}
