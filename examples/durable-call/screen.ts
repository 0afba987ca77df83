// What a person sees (aligned lines, colour only on a terminal) or a program reads (--json: one JSON value per line).

import type { Outcome } from "./check-outcome.ts";
import type { StoryEvent, Tell } from "./story-event.ts";

const WHO_WIDTH = 9;
const RED = 31;
const GREEN = 32;
const DIM = 2;

export class Screen {
  readonly #isJson: boolean;
  readonly #hasColour: boolean;
  readonly #startedAt = performance.now();

  constructor(isJson: boolean) {
    this.#isJson = isJson;
    this.#hasColour = !isJson && process.stdout.isTTY === true && !process.env.NO_COLOR;
  }

  title(text: string): void {
    if (!this.#isJson) this.#line(`${text}\n`);
  }

  /** Tells what happens, as seen by `who`. */
  teller(who: string): Tell {
    return (event) => this.#event(who, event);
  }

  outcome(outcome: Outcome): void {
    const ok = outcome.mismatches.length === 0;
    if (this.#isJson) this.#line(JSON.stringify({ event: "outcome", ok, ...outcome }));
    else this.#outcomeText(outcome, ok);
  }

  #outcomeText(outcome: Outcome, ok: boolean): void {
    this.#line("");
    this.#line(this.#paint(DIM, "  call           effect      attempts  results  side effects  outcome"));
    for (const line of outcome.lines) {
      const numbers = [
        String(line.attempts).padStart(8),
        String(line.results).padStart(7),
        String(line.effects).padStart(12),
      ];
      this.#line(`  ${line.call.padEnd(13)}  ${line.effect.padEnd(10)}  ${numbers.join("  ")}  ${line.outcome}`);
    }
    this.#line("");
    this.#line(
      `  turn: ${outcome.turnStatus}, ${outcome.terminalEvents} terminal event; ${outcome.invariants} invariants checked`,
    );
    for (const mismatch of outcome.mismatches) this.#line(this.#paint(RED, `  MISMATCH  ${mismatch}`));
    const verdict = "  Every call has exactly one outcome, and no side effect happened twice.";
    if (ok) this.#line(this.#paint(GREEN, verdict));
  }

  #event(who: string, event: StoryEvent): void {
    const ms = Math.round(performance.now() - this.#startedAt);
    if (this.#isJson) this.#line(JSON.stringify({ ms, who, ...event }));
    else this.#eventText(who, event, ms);
  }

  #eventText(who: string, event: StoryEvent, ms: number): void {
    const time = this.#paint(DIM, `${(ms / 1000).toFixed(1).padStart(5)} s`);
    const says = event.event === "killed" || event.event === "tool.lost" ? this.#paint(RED, event.says) : event.says;
    this.#line(`${time}  ${who.padEnd(WHO_WIDTH)}  ${says}`);
  }

  #paint(colour: number, text: string): string {
    return this.#hasColour ? `\u001b[${colour}m${text}\u001b[0m` : text;
  }

  #line(text: string): void {
    process.stdout.write(`${text}\n`);
  }
}
