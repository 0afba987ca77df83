// What a conversation looks like: answers on stdout, everything else on stderr; with --json events, one per line.
//
//   P1. Where a person watches, text is printed as it is written. What of it was lost on the way, or was said anew, is printed when
//       the step is known; the step has the last word.
//   P2. Without a person at stdout it gets the answers and nothing else.
//   P3. A line on stderr never begins in the middle of one on stdout.
//   P4. While a question is asked nothing is printed; it comes when the question is answered.

import { type ChunkPayload, visibleLine } from "@tessera/protocol";
import { EXIT } from "../exit-codes.ts";
import { labelled, type Terminal, type Text } from "../output/printing-gate.ts";
import type { ProgressPrinter } from "../progress/progress-printer.ts";
import { seconds } from "../progress/progress-text.ts";
import type { ProgressEvent } from "../progress/turn-progress.ts";
import { deliverableText, exitCodeOf, failureText, type TurnAnswer } from "../turns/turn-answer.ts";

/** A turn of before. */
interface SaidBefore {
  readonly agent_turn_id: string;
  readonly status: string;
  readonly input: string | null;
  readonly deliverable: unknown;
}

export interface ChatPrinter extends ProgressPrinter {
  /** The turn that is watched from now on. */
  begin(turnId: string): void;
  chunk(chunk: ChunkPayload): void;
  answer(answer: TurnAnswer): void;
  history(turns: readonly SaidBefore[], hasMore: boolean): void;
  /** An event of the conversation, and the line of it for a person. */
  tell(event: Readonly<Record<string, unknown>>, text: string): void;
  prompt(): void;
  /** P4 */
  hold(question: string): void;
  release(): void;
}

const SHOWN_CHARS_MAX = 2_000;

export function createChatPrinter(
  terminal: Terminal,
  { isJson, agent }: { readonly isJson: boolean; readonly agent: string },
): ChatPrinter {
  const isLive = terminal.isOutWatched && !isJson;
  let turnId: string | null = null;
  /** Texts of steps as they were streamed, for those that are not known yet. */
  let streamed: string[] = [];
  let lastText: string | null = null;
  let isMidLine = false;
  let held: (() => void)[] | null = null;

  const out = (text: string) => {
    if (text === "") return;
    isMidLine = !text.endsWith("\n");
    terminal.out(text);
  };
  const endLine = () => {
    if (isMidLine) out("\n");
  };
  const err = (text: Text) => {
    endLine(); // P3
    terminal.err(text);
  };
  const json = (event: object) => terminal.out(`${JSON.stringify(event)}\n`);
  /** P4 */
  const soon = (print: () => void) => {
    if (held === null) print();
    else held.push(print);
  };

  /** P1 */
  function step(text: string): void {
    const heard = streamed.shift() ?? "";
    lastText = text;
    if (!isLive || text === "" || heard === text) {
      endLine();
      return;
    }
    if (!text.startsWith(heard)) endLine();
    out(`${text.startsWith(heard) ? text.slice(heard.length) : text}\n`);
  }

  function progress(event: ProgressEvent): void {
    if (isJson) {
      json(event);
      return;
    }
    const who = event.agent_turn_id === turnId ? "" : `${visibleLine(event.agent)}: `;
    if (event.event === "step" && event.agent_turn_id === turnId) step(event.text ?? "");
    if (event.event === "call" && event.elapsed_ms !== undefined) {
      const how = event.error_code === undefined ? event.status : `${event.status} ${event.error_code}`;
      const text = `  ${who}${visibleLine(event.tool ?? "")}  ${how}  ${seconds(event.elapsed_ms)}`;
      err([{ line: [{ text, colour: "dim" }], hang: 4 }]);
    }
    if (event.event === "wait") {
      const what = event.tool === undefined ? "" : `${visibleLine(event.tool)}  `;
      err([{ line: [{ text: `  ${who}${what}waits: ${visibleLine(event.reason ?? "")}`, colour: "dim" }], hang: 4 }]);
    }
  }

  return {
    begin(id) {
      turnId = id;
      streamed = [];
      lastText = null;
    },
    chunk({ agent_turn_id, chunk_type, content = "" }) {
      if (!isLive || agent_turn_id !== turnId) return;
      soon(() => {
        if (chunk_type === "start") {
          endLine();
          streamed.push("");
        }
        if (chunk_type !== "content") return;
        streamed[streamed.length - 1] = `${streamed.at(-1) ?? ""}${content}`;
        out(content);
      });
    },
    event: (event) => soon(() => progress(event)),
    note: (text) => soon(() => (isJson ? undefined : err([{ line: [`  ${text}`], hang: 4 }]))),
    draw: () => undefined,
    close: () => undefined,
    answer: (answer) =>
      soon(() => {
        if (isJson) {
          json({ event: "answer", ...answer });
          return;
        }
        endLine();
        const isSaid = isLive && answer.deliverable === lastText; // P1
        if (exitCodeOf(answer) === EXIT.ok && !isSaid) out(deliverableText(answer.deliverable));
        if (answer.status !== "success") err(failureText(answer));
      }),
    history(turns, hasMore) {
      if (isJson) {
        for (const turn of turns) json({ event: "history", ...turn });
        return;
      }
      if (hasMore) err("  …\n");
      for (const { input, status, deliverable } of turns) {
        const said =
          status === "success" || status === "partial" ? deliverableText(deliverable).trimEnd() : `(${status})`;
        err([lineOf("you", input ?? ""), lineOf(agent, said)]);
      }
    },
    tell: (event, text) => soon(() => (isJson ? json(event) : err([{ line: [`  ${text}`], hang: 4 }]))),
    prompt() {
      if (isJson || terminal.isInputWatched !== true) return;
      endLine();
      terminal.err("> ");
    },
    hold(question) {
      err(question);
      held = [];
    },
    release() {
      const waiting = held ?? [];
      held = null;
      for (const print of waiting) print();
    },
  };
}

function lineOf(who: string, said: string) {
  const text = said.length > SHOWN_CHARS_MAX ? `${said.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…` : said;
  return labelled(visibleLine(who), visibleLine(text.replace(/\s+/g, " ").trim()));
}
