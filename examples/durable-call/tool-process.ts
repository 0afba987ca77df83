// One run of one tool, in its own process: it takes its work over the channel, acts, and answers.
//
// The first attempt of a tool that is to be killed acts and then hangs, so that the kill always comes between the side effect
// and the answer: the one moment at which no other process can know what happened.
//
//   T1. It does not outlive the process that started it: when the channel closes, it ends (a second copy could act, too).

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { toolNamed } from "./tools.ts";

export interface ToolWork {
  readonly tool: string;
  readonly attempt: number;
  readonly idempotencyKey: string;
  /** A file with one line per side effect: the world outside. */
  readonly ledger: string;
}

export type ToolNews =
  | { readonly kind: "acted" }
  | { readonly kind: "answer"; readonly result: { readonly text: string } };

process.on("disconnect", () => process.exit()); // T1
process.on("SIGINT", () => undefined); // Ctrl-C reaches every process of a terminal; the story ends its own
process.once("message", (work: ToolWork) => run(work));

function run({ tool: name, attempt, idempotencyKey, ledger }: ToolWork): void {
  if (!process.connected) process.exit(); // T1
  const tool = toolNamed(name);
  const mark = `${name} ${idempotencyKey}\n`;
  // An idempotent tool recognises its key; a `once` tool cannot, which is why it must not be run again.
  const isKnown = tool.effect === "idempotent" && existsSync(ledger) && readFileSync(ledger, "utf8").includes(mark);
  if (tool.effect !== "read" && !isKnown) appendFileSync(ledger, mark);
  const hangs = tool.fate !== "answers" && attempt === 1;
  send({ kind: "acted" });
  if (!hangs) send({ kind: "answer", result: { text: isKnown ? "held before, held still" : "done" } });
}

function send(news: ToolNews): void {
  process.send?.(news);
}
