// Card access of a hand-written tool service. A CommonGround handler keeps its code: it reads the `tool.call` card, saves a
// `tool.result` card and reports it; behind these three the calls are claimed, fenced and renewed through a port.
//
//   X1. Reading the call's card is the claim (docs/design.md#claim-before-work): the command is acked right after it, whatever
//       the answer, and a call that another claim has or had is an error the handler never has to think about.
//   X2. The ticket and the capability stay in here; a handler sees neither.
//   X3. From the claim to the report the lease is renewed; a call that was lost makes saving and reporting fail.
//   X4. The store of a result card may name it otherwise; a pointer that the handler built is translated when reported.
//   X5. A call is held for the delivery that opened it. Another command that names the same call is not the same command.

import {
  type BusMessage,
  type CallHold,
  type CallLease,
  type Clock,
  type Delivery,
  type ExecutorPort,
  holdLease,
  type OpenedCall,
} from "@tessera/kernel";
import {
  errorOf,
  getHeader,
  HEADERS,
  isId,
  type JsonObject,
  LEASE_MS,
  NotFound,
  parseSubject,
  TesseraError,
} from "@tessera/protocol";
import type { ToolResultCard } from "./result-builder.ts";

/** A `tool.call` card as a handler reads it. */
export interface ToolCallCard {
  readonly card_id: string;
  readonly project_id: string;
  readonly type: "tool.call";
  readonly tool_call_id: string;
  /** What is asked for. */
  readonly content: {
    readonly tool_name: string;
    readonly arguments: JsonObject;
    readonly status: "called";
    readonly target_subject: string;
  };
  /** Where it came from: trace, step, and what the call was made with. */
  readonly metadata: JsonObject;
}

/** What a `CardBox` needs. */
export interface CardBoxOptions {
  /** The kernel, or the HTTP edge in front of it. */
  readonly port: Pick<ExecutorPort, "openCall" | "renewCall" | "putResultCard" | "report">;
  /** For renewing leases; `connectExecutor` has one. */
  readonly clock: Clock;
  /** The name of this process, for those who look at the call. */
  readonly executor: string;
  /** Who acts, where the port is the kernel. Over HTTP the key says it. */
  readonly principal?: string;
  /** How long a claim holds without being renewed; default 15 s. */
  readonly leaseMs?: number;
}

interface Held {
  readonly call: OpenedCall;
  /** The command that opened it. */
  readonly delivery: Delivery;
  readonly hold: CallHold;
  readonly lease: CallLease;
  /** A saved card's id as the handler chose it → as it is stored (X4). */
  readonly saved: Map<string, string>;
}

/** The cards of the calls that this service is given. Reading a call's card claims the call; from there to its report the lease is
 *  renewed. */
export class CardBox {
  readonly #options: CardBoxOptions;
  readonly #admitted = new Map<string, Delivery>();
  readonly #held = new Map<string, Held>();

  constructor(options: CardBoxOptions) {
    this.#options = options;
  }

  /** Lets a command's card be read until `dismiss`. False: the same command is being handled here already. */
  admit(delivery: Delivery): boolean {
    const key = cardKey(delivery);
    if (this.#admitted.has(key)) return false;
    this.#admitted.set(key, delivery);
    return true;
  }

  /** The handler is done with this command: what it did not report is let go, and its lease lapses. */
  dismiss(delivery: Delivery): void {
    this.#admitted.delete(cardKey(delivery));
    // By the delivery and not by its header: every client of the bus can write another call's id there (X5).
    for (const [callId, held] of this.#held) if (held.delivery === delivery) this.#release(callId);
  }

  /** The cards of the commands that are being handled, in the order asked for; others are not there. */
  async getCards(cardIds: readonly string[], { projectId }: { readonly projectId: string }): Promise<ToolCallCard[]> {
    // X1
    const cards: ToolCallCard[] = [];
    for (const cardId of cardIds) {
      const delivery = this.#admitted.get(`${projectId}/${cardId}`);
      if (delivery !== undefined) cards.push(await this.#open(delivery, projectId, cardId));
    }
    return cards;
  }

  /** Saves a result's card, and answers the id that it is stored under. Throws `lease_lost` where the call is another's by now. */
  async saveCard(card: ToolResultCard): Promise<string> {
    const held = this.#require(card.tool_call_id);
    const functionName = card.metadata.function_name;
    const outcome = await this.#options.port.putResultCard({
      ...held.hold,
      content: card.content,
      card_id: card.card_id,
      author_id: card.author_id,
      ...(typeof functionName === "string" ? { function_name: functionName } : {}),
    });
    if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the result card was refused");
    held.saved.set(card.card_id, outcome.tool_result_card_id);
    return outcome.tool_result_card_id;
  }

  /** For `publishToolResultReport`. */
  holdOf(toolCallId: string): {
    readonly hold: CallHold;
    readonly port: CardBoxOptions["port"];
    storedId(cardId: string): string;
    settled(): void;
  } {
    const held = this.#require(toolCallId);
    return {
      hold: held.hold,
      port: this.#options.port,
      storedId: (cardId) => held.saved.get(cardId) ?? cardId,
      settled: () => this.#release(toolCallId),
    };
  }

  async #open(delivery: Delivery, projectId: string, cardId: string): Promise<ToolCallCard> {
    const { port, clock, executor, principal, leaseMs = LEASE_MS } = this.#options;
    const toolCallId = getHeader(delivery.headers, HEADERS.tool_call_id);
    const ticket = getHeader(delivery.headers, HEADERS.call_ticket);
    const known = [...this.#held.values()].find((held) => held.delivery === delivery);
    if (known !== undefined) return cardOf(known.call, cardId); // X5
    const askedAtMs = clock.monotonicMs();
    const outcome = await port.openCall({
      project_id: projectId,
      tool_call_id: toolCallId ?? "",
      tool_call_card_id: cardId,
      ...(ticket === null ? {} : { ticket }),
      executor,
      ...(principal === undefined ? {} : { principal }),
      lease_ms: leaseMs,
    });
    delivery.ack(); // X1
    if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the call cannot be opened");
    const hold = {
      project_id: projectId,
      tool_call_id: outcome.tool_call_id,
      capability: outcome.capability,
      ...(principal === undefined ? {} : { principal }),
    };
    const lease = holdLease(hold, { port, clock, leaseMs, askedAtMs }); // X3
    this.#held.set(outcome.tool_call_id, { call: outcome, hold, delivery, lease, saved: new Map() });
    return cardOf(outcome, cardId);
  }

  #require(toolCallId: string): Held {
    const held = this.#held.get(toolCallId);
    if (held === undefined) throw new NotFound(`call ${toolCallId} is not held here: read its card first`);
    const lostBecause = held.lease.lostBecause();
    if (lostBecause !== null) throw new TesseraError("lease_lost", `call ${toolCallId} was lost: ${lostBecause}`);
    return held;
  }

  #release(toolCallId: string): void {
    this.#held.get(toolCallId)?.lease.release();
    this.#held.delete(toolCallId);
  }
}

function cardOf(call: OpenedCall, cardId: string): ToolCallCard {
  const lineage = {
    agent_turn_id: call.agent_turn_id,
    tool_call_id: call.tool_call_id,
    step_id: call.step_id,
    trace_id: call.trace_id,
    ...(call.parent_step_id === null ? {} : { parent_step_id: call.parent_step_id }),
    role: "assistant",
  };
  return {
    card_id: cardId,
    project_id: call.project_id,
    type: "tool.call",
    tool_call_id: call.tool_call_id,
    content: {
      tool_name: call.tool_name,
      arguments: call.arguments as JsonObject,
      status: "called",
      target_subject: call.target_subject,
    },
    metadata: { ...(call.call_metadata as JsonObject | null), ...lineage },
  };
}

/** Project from the subject, card from the payload: what getCards will be asked for. */
function cardKey(message: BusMessage): string {
  const project = parseSubject(message.subject)?.project_id ?? "";
  return `${project}/${cardIdIn(message.data)}`;
}

function cardIdIn(data: Uint8Array): string {
  try {
    const payload = JSON.parse(new TextDecoder().decode(data)) as { tool_call_card_id?: unknown } | null;
    return isId(payload?.tool_call_card_id) ? payload.tool_call_card_id : "";
  } catch {
    return ""; // no command; the handler will find out
  }
}
