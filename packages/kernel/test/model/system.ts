// The kernel under test, as one sequence of commands sees it: a project of its own, the secrets it was given, and what
// the rows say.
//
//   Y1. Sequences share stores and connections, because making one is slow; each reads only the rows of its project.
//   Y2. Tickets and capabilities are kept in the order in which they were given: the model knows them by their place.

import type { CallHold, Kernel, TurnHold } from "../../src/index.ts";
import type { Fixture } from "../fixture.ts";
import type { CapUse } from "./model-calls.ts";
import { AGENTS, type CallSpec, type View } from "./model-state.ts";
import type { Hold } from "./model-turns.ts";
import { VIEW } from "./view-query.ts";

const FORGED = "ab".repeat(32);

/** What one sequence was given and must remember (Y2). */
class Book {
  readonly tickets = new Map<string, string[]>();
  readonly capabilities = new Map<string, string[]>();
  readonly cards = new Map<string, string>();
  readonly specs = new Map<string, CallSpec>();
}

/** What sequences find when they begin: a project each, with its agents. One batch for all of them. */
export async function openProjects(kernel: Kernel, projects: readonly string[]): Promise<void> {
  await Promise.all(projects.map((project_id) => kernel.putProject({ project_id })));
  await Promise.all(projects.map((project_id) => kernel.putBox({ project_id, box_id: `${project_id}_profile` })));
  const agents = projects.flatMap((project_id) =>
    Array.from({ length: AGENTS }, (_, n) => ({ project_id, agent_id: `${project_id}_a${n}` })),
  );
  await Promise.all(
    agents.map((agent) =>
      kernel.putAgent({ ...agent, worker_target: "workers", profile_box_id: `${agent.project_id}_profile` }),
    ),
  );
}

export class System {
  readonly project: string;
  readonly #fixture: Fixture;
  readonly #book: Book;
  readonly #reached: Map<string, number>;
  readonly kernel: Kernel;
  /** What was asked so far. */
  readonly trace: object[] = [];
  /** How many operations may pass before the rows are looked at, and how many have. */
  lookEvery = 1;
  #cursor = 0;
  unseen = 0;

  constructor(
    fixture: Fixture,
    project: string,
    reached: Map<string, number>,
    kernel: Kernel = fixture.kernel,
    book: Book = new Book(),
  ) {
    this.#fixture = fixture;
    this.project = project;
    this.#reached = reached;
    this.kernel = kernel;
    this.#book = book;
  }

  /** The same sequence, asked through another client. */
  through(kernel: Kernel): System {
    return new System(this.#fixture, this.project, this.#reached, kernel, this.#book);
  }

  get clock() {
    return this.#fixture.clock;
  }

  async open(workers: readonly string[]): Promise<void> {
    const { kernel } = this;
    await Promise.all(workers.map((worker_id) => kernel.renewWorker({ worker_id, worker_target: "workers" })));
  }

  async view(): Promise<View> {
    const [row] = await this.#fixture.query<{ view: View }>(VIEW, [this.project]);
    return row?.view as View;
  }

  /** What happened in this project since this was last asked. */
  async newEvents() {
    const events = await this.kernel.reads.eventsAfter(this.project, this.#cursor);
    this.#cursor = events.at(-1)?.seq ?? this.#cursor;
    return events;
  }

  async sweep(): Promise<void> {
    const { kernel } = this;
    const from = this.#fixture.published.length;
    await kernel.sweep();
    await kernel.announcer.settled();
    for (const { headers } of this.#fixture.published.slice(from)) {
      const call = headers["CG-Tool-Call-Id"];
      const ticket = headers["CG-Call-Ticket"];
      if (call !== undefined && ticket !== undefined) this.keepTicket(call, ticket);
    }
  }

  /** Counts an answer, without the numbers and results in it. */
  reach(answer: string): void {
    const kind = answer.replace(/(started|resumed|took|read) .+$/, "$1").replace(/ \d+$/, "");
    this.#reached.set(kind, (this.#reached.get(kind) ?? 0) + 1);
  }

  draft(spec: CallSpec) {
    this.#book.specs.set(spec.id, spec);
    return {
      tool_call_id: spec.id,
      tool_name: "echo__run",
      arguments: {},
      target_subject: `cg.v1r4.${this.project}.public.cmd.tool.echo.run`,
      author_id: "tool.echo",
      effect: spec.effect,
      local: spec.local,
      can_reconcile: spec.canReconcile,
      after_execution: this.after(spec.id),
      timeout_ms: spec.timeoutMs,
      ...(spec.queueMs === null ? {} : { queue_timeout_ms: spec.queueMs }),
      attempts_max: spec.attemptsMax,
    };
  }

  fence(hold: Hold): TurnHold {
    return { project_id: this.project, agent_id: hold.agent, agent_turn_id: hold.turn, turn_epoch: hold.epoch };
  }

  after(call: string): "suspend" | "terminate" {
    return this.#book.specs.get(call)?.terminate === true ? "terminate" : "suspend";
  }

  /** Y2 */
  keepTicket(call: string, ticket: string): void {
    const known = placesOf(this.#book.tickets, call);
    if (!known.includes(ticket)) known.push(ticket);
  }

  keepCapability(call: string, capability: string): void {
    placesOf(this.#book.capabilities, call).push(capability);
  }

  ticket(call: string, which: number | "forged" | "other"): string {
    return secret(this.#book.tickets, call, which);
  }

  callHold(use: CapUse): CallHold {
    const capability = secret(this.#book.capabilities, use.call, use.cap);
    return { project_id: this.project, tool_call_id: use.call, capability, ...asPrincipal(use) };
  }

  keepCard(use: CapUse & { result: string }, card: string): void {
    this.#book.cards.set(`${use.call}/${use.cap}`, card);
    this.#book.cards.set(`${use.call}/${use.cap}/status`, use.result.split(" ")[0] ?? "");
  }

  card(use: CapUse): string {
    return this.#book.cards.get(`${use.call}/${use.cap}`) ?? "card_none";
  }

  cardStatus(use: CapUse): string {
    return this.#book.cards.get(`${use.call}/${use.cap}/status`) ?? "success";
  }
}

export const asPrincipal = ({ principal }: { readonly principal: string | null }): { readonly principal?: string } =>
  principal === null ? {} : { principal };

function placesOf(book: Map<string, string[]>, id: string): string[] {
  const there = book.get(id) ?? [];
  book.set(id, there);
  return there;
}

function secret(book: Map<string, string[]>, id: string, which: number | "forged" | "other"): string {
  const own = book.get(id) ?? [];
  if (typeof which === "number") return own[which] ?? "";
  // Local calls that one resume handed out share a capability: another call's may be its own.
  const others = [...book.values()].flat().filter((other) => !own.includes(other));
  return which === "other" ? (others.at(-1) ?? FORGED) : FORGED;
}
