// A bundle whose agents call tools of every effect, and whose tools write what they do to a ledger, the world outside.
//
// `acts` runs where the turn runs, `remote` in a service of the target `remote`; both have the same exports.

import { wholeLines } from "@tessera/testkit/whole-lines";

export interface LedgerEntry {
  readonly name: string;
  readonly key: string;
  readonly attempt: number;
  readonly pid: number;
}

export interface ActsAgent {
  readonly name: string;
  /** Tools of the first step, in order: `acts__once`, `remote__find`, … */
  readonly calls: readonly string[];
  /** A second step that calls these, before the text. */
  readonly next?: readonly string[];
  readonly thinksMs?: number;
}

const EFFECTS = `
    - { name: read, effect: read, timeoutMs: 60000 }
    - { name: idempotent, effect: idempotent, timeoutMs: 60000, retry: { maxAttempts: 20 } }
    - { name: once, effect: once, timeoutMs: 60000 }
    - { name: reconciled, effect: once, reconcile: true, timeoutMs: 60000, retry: { maxAttempts: 20 } }
`;

const MODULE = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
const act = (name) => async (ctx, { ledger, hangs, workMs }) => {
  appendFileSync(ledger, JSON.stringify({ name, key: ctx.idempotencyKey, attempt: ctx.attempt, pid: process.pid }) + "\\n");
  if (hangs && ctx.attempt === 1) await new Promise(() => setInterval(() => undefined, 1_000));
  if (workMs) await new Promise((resolve) => setTimeout(resolve, workMs));
  return { name, key: ctx.idempotencyKey, attempt: ctx.attempt };
};
export const handlers = Object.fromEntries(["read", "idempotent", "once", "reconciled"].map((name) => [name, act(name)]));
const reconciled = (ctx, call) => {
  const done = existsSync(call.input.ledger) && readFileSync(call.input.ledger, "utf8").includes(call.idempotencyKey);
  return done ? { outcome: "done", output: { name: "reconciled", attempt: ctx.attempt } } : { outcome: "not_done" };
};
export const reconcilers = { reconciled };
`;

export interface ActsInput {
  readonly ledger: string;
  /** The first attempt of an `acts` tool acts and then hangs; a later one answers. */
  readonly hangs?: boolean;
  readonly workMs?: number;
}

/** Every turn of these agents ends with the text `done`. */
export function actsFiles(agents: readonly ActsAgent[], input: ActsInput): Readonly<Record<string, string>> {
  const argumentsOf = (name: string) => (name.startsWith("acts__") ? input : { ledger: input.ledger });
  const callsOf = (names: readonly string[]) => names.map((name) => ({ name, arguments: argumentsOf(name) }));
  const rules = agents.flatMap(({ name, calls, next, thinksMs = 0 }) => [
    { when: { agent: name, step: 0 }, reply: { text: "acting", toolCalls: callsOf(calls), delayMs: thinksMs } },
    ...(next === undefined
      ? []
      : [{ when: { agent: name, step: 1 }, reply: { text: "more", toolCalls: callsOf(next) } }]),
    { when: { agent: name }, reply: { text: "done", delayMs: thinksMs } },
  ]);
  const documents = [
    { kind: "Model", metadata: { name: "script" }, spec: { provider: "scripted", options: { rules } } },
    ...agents.map(({ name }) => ({
      kind: "Agent",
      metadata: { name },
      spec: { modelConfig: { modelRef: "Model/script" }, tools: ["Tool/acts", "Tool/remote"] },
    })),
  ].map((document) => JSON.stringify({ apiVersion: "goondan.ai/v1", ...document }));
  const tool = (name: string, where: string) =>
    `apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: { name: ${name} }\nspec:\n  entry: ./acts.ts\n${where}\n  exports:${EFFECTS}`;
  const tools = [tool("acts", "  placement: inline"), tool("remote", "  placement: service\n  target: remote")];
  return { "tessera.yaml": [...documents, ...tools].join("\n---\n"), "acts.ts": MODULE };
}

export function readLedger(path: string): LedgerEntry[] {
  return wholeLines(path).map((line) => JSON.parse(line) as LedgerEntry);
}
