// Layers around a turn, a step, a call that runs here and a call that runs elsewhere.
//
//   W1. What an extension changed is checked again: arguments pass the tool's gate, a catalog only shrinks.
//   W2. Only a toolCall layer may answer instead of what it wraps; a turn or a step that a layer does not take fails.
//   W3. A call that runs elsewhere is wrapped before its commit, because nothing can keep it back after that. Its result
//       comes when its sender may be gone, so layers cannot change it.
//   W4. A failed layer of a call gives the call a result, `extension_failed`: the tool did not run, or ran and its result is
//       kept in the card without being shown to the model (result-output.ts, O4). A failed layer of a step or a turn ends the
//       turn with this code, unless the turn has ended or waits already: what is committed stands.
//   W5. All layers of a local call together take no longer than half of what its deadline leaves beside the tool's own time;
//       after that the tool is not started, because its call may be settled before it ends.

import {
  buildErrorResultFromException,
  CALL_DEADLINE_MARGIN_MS,
  errorOf,
  isJsonObject,
  type JsonObject,
  TesseraError,
  type ToolResultContent,
} from "@tessera/protocol";
import { type AgentEvent, type RegisteredTool, type RunFailure, type ToolDefinition, toolPolicy } from "@tessera/tool";
import { gateArguments, modelTool, type PlannedCall } from "@tessera/tool/catalog";
import { type LocalCallOrder, runOwn, stackOf } from "@tessera/tool/run";
import { nextCallOf } from "../loop/call-order.ts";
import { type Ending, endingByText, thoughtCard } from "../loop/finish-turn.ts";
import { stepsOf } from "../loop/last-step.ts";
import type { StepEnd } from "../loop/take-step.ts";
import type { TurnSession } from "../loop/turn-session.ts";
import type {
  ConversationState,
  LayeredResult,
  MessageEvent,
  RuntimeInfo,
  StepResult,
  ToolCatalogItem,
  TurnResult,
} from "./api.ts";
import { agentsOf, identityOf, newMetadata } from "./contexts.ts";
import { type ReplanCall, refusedByLayer } from "./extension-host.ts";
import { contentOfLayer, layeredResult } from "./layered-result.ts";
import { inOrder, type Layer, type LayerFailure, type Onion, runOnion } from "./layers.ts";
import type { MessageEvents } from "./message-events.ts";
import { type StepTaken, stepResult, thoughtsOf, turnOf, turnResult } from "./turn-view.ts";

export interface Wrapping {
  readonly layers: readonly Layer[];
  readonly onFault: Onion<unknown, unknown>["onFault"];
  readonly foreignOf: Onion<unknown, unknown>["foreignOf"];
  readonly onWarning: (warning: string) => void;
  readonly runtime: RuntimeInfo;
  readonly inputEvent: AgentEvent;
  readonly messages: MessageEvents;
  /** Of a stretch of the turn, as it began. */
  readonly conversation: ConversationState;
}

const MESSAGE_LIMIT = 1_000;
const CALL_LAYERS_MS_MAX = CALL_DEADLINE_MARGIN_MS / 2;
const nothingToPutBack = () => () => undefined;

export async function wrapTurn(
  { layers, onFault, foreignOf, runtime, inputEvent, messages, conversation }: Wrapping,
  turn: { session: TurnSession; turnStatus: () => Promise<string>; run: () => Promise<Ending | null> },
): Promise<Ending | null> {
  const { session } = turn;
  const metadata = newMetadata(session.turn.metadata);
  const isResumed = session.cards.length > 0;
  // A stretch that is run again after a crash begins behind the same thought.
  const emit = messages.at(`turn from step ${thoughtsOf(session)}`);
  const { ending } = await runOnion<{ readonly ending: Ending | null }, TurnResult>({
    layers: inOrder(layers, "turn"),
    inside: async () => {
      await messages.flush();
      return { ending: await turn.run() };
    },
    show: async ({ ending }) => turnResult(session, ending, ending === null ? await turn.turnStatus() : ending.status),
    contextFor: (next, { extension }) => ({
      ...identityOf(session, runtime),
      inputEvent,
      isResumed,
      metadata,
      emitMessageEvent: (event: MessageEvent) => emitted(() => emit(extension, event)),
      conversationState: conversation,
      agents: agentsOf(session, "turn", extension),
      next,
    }),
    take: taken,
    refuse(failure, inside) {
      if (inside === undefined) throw failedLayer(failure); // W4
      return inside;
    },
    save: nothingToPutBack,
    clock: session.worker.clock,
    signal: session.signal,
    onFault,
    foreignOf,
  });
  await messages.flush();
  messages.close();
  return ending;
}

export async function wrapStep(
  { layers, onFault, foreignOf, onWarning, runtime, inputEvent, messages, conversation }: Wrapping,
  given: {
    session: TurnSession;
    step: number;
    ownerOf: (toolName: string) => string | undefined;
    run: (offered: readonly RegisteredTool[]) => Promise<StepEnd>;
  },
): Promise<StepEnd> {
  const { session, step } = given;
  const metadata = newMetadata();
  const emit = messages.at(`step ${step}`);
  let catalog: ToolCatalogItem[] = session.offered.map(({ definition }) => {
    const { name, description, parameters } = modelTool(definition);
    const owner = given.ownerOf(name);
    const source =
      owner === undefined ? ({ type: "config", name } as const) : ({ type: "extension", name: owner } as const);
    return { name, description, parameters, source };
  });
  const before = session.cards.length;
  const { end, goesOn } = await runOnion<StepTaken, StepResult>({
    layers: inOrder(layers, "step"),
    inside: async () => {
      await messages.flush();
      const end = await messages.whileAtWork(async () => {
        const taken = await given.run(stillOffered(session, catalog, onWarning));
        if (typeof taken === "object") holdAnswer(session, messages, taken);
        return taken;
      });
      return { end, goesOn: end === "next" || end === "waits" };
    },
    show: (taken) => stepResult(session, step, taken, before),
    contextFor: (next, { extension }) => ({
      ...identityOf(session, runtime),
      get turn() {
        return turnOf(session, inputEvent);
      },
      inputEvent,
      stepIndex: step,
      metadata,
      emitMessageEvent: (event: MessageEvent) => emitted(() => emit(extension, event)),
      conversationState: conversation,
      agents: agentsOf(session, `step ${step}`, extension),
      get toolCatalog() {
        return catalog;
      },
      set toolCatalog(items) {
        if (!Array.isArray(items)) throw new TypeError("toolCatalog must be a list"); // else the step would offer all
        catalog = items;
      },
      next,
    }),
    take(returned, inside) {
      const { end, goesOn } = taken(returned, inside);
      const wanted =
        isJsonObject(returned) && typeof returned.shouldContinue === "boolean" ? returned.shouldContinue : goesOn;
      return { end, goesOn: end === "waits" || end === "ended" ? goesOn : wanted };
    },
    refuse(failure, inside) {
      if (inside === undefined || inside.end === "next") throw failedLayer(failure); // W4
      return inside;
    },
    save: () => {
      const [list, items] = [catalog, [...catalog]];
      return () => {
        catalog = list;
        list.splice(0, list.length, ...items);
      };
    },
    clock: session.worker.clock,
    signal: session.signal,
    onFault,
    foreignOf,
  });
  if (typeof end === "object" && goesOn) await messages.keepHeld(); // it becomes a message like any other
  await messages.flush();
  if (typeof end === "object") return goesOn ? "next" : end;
  return end === "next" && !goesOn ? endingByText(session) : end;
}

/** A layer may drop the promise: what fails was reported (message-events.ts, E5). */
function emitted(emit: () => Promise<void>): Promise<void> {
  const kept = runOwn(emit);
  kept.catch(() => undefined);
  return kept;
}

/** What the events of layers are written behind, if there are any. */
function holdAnswer(session: TurnSession, messages: MessageEvents, ending: Ending): void {
  if (ending.thought === undefined) return;
  messages.holdBack(thoughtCard(session.worker, ending.thought, ending.step_id), () => {
    ending.isThoughtKept = true;
  });
}

/** A call that runs here. */
export async function wrapToolCall(
  wrapping: Wrapping,
  call: {
    session: TurnSession;
    order: LocalCallOrder;
    definition: ToolDefinition | null;
    onFailure: (failure: RunFailure) => void;
    run: (args: unknown) => Promise<ToolResultContent>;
  },
): Promise<ToolResultContent> {
  const { session, order, definition } = call;
  const { cards } = session;
  const thought = cards.findLast((card) => card.type === "agent.thought");
  const stepIndex = stepsOf(cards) - 1;
  const { clock } = session.worker;
  const begunAt = clock.monotonicMs();
  const told = { ...wrapping, onFault: tellingFault(wrapping.onFault, call.onFailure) };
  const passed = await wrapCall(told, session, order, stepIndex, async (args) => {
    if (clock.monotonicMs() - begunAt > CALL_LAYERS_MS_MAX) {
      return refusedByLayer(order, "the extensions around this call took too long; the tool was not started", {}); // W5
    }
    if (definition === null || isSame(args, order.arguments)) return await call.run(args);
    try {
      const step_id = String(thought?.metadata.step_id ?? "");
      const vars = { ...session.turn, step_id, tool_call_id: order.tool_call_id };
      return await call.run(gateArguments(definition, args, vars).arguments); // W1
    } catch (error) {
      if (!TesseraError.is(error) || error.http !== 400) throw error;
      return { ...buildErrorResultFromException(error), after_execution: "suspend" as const };
    }
  });
  return passed.content as ToolResultContent;
}

/** W3 */
export async function wrapRemoteCall(
  wrapping: Wrapping,
  { session, call, replan }: { session: TurnSession; call: PlannedCall; replan: ReplanCall },
): Promise<PlannedCall> {
  if (call.draft.local || call.refusal !== undefined) return call;
  const { draft } = call;
  const order: LocalCallOrder = { ...draft, attempt: 1, mode: "run" };
  const stepIndex = stepsOf(session.cards) - (nextCallOf(session.cards)?.call_index ? 1 : 0);
  let planned = call;
  const passed = await wrapCall(wrapping, session, order, stepIndex, async (args) => {
    if (!isSame(args, draft.arguments)) {
      planned = replan({ id: draft.tool_call_id, name: draft.tool_name, arguments: args }); // W1
    }
    return planned.refusal ?? null;
  });
  if (passed.content === null || planned.refusal !== undefined) return planned;
  // Nothing runs, so nothing can be left half done: committed and settled like any refused call.
  const {
    tool_digest: _digest,
    timeout_ms: _limit,
    queue_timeout_ms: _queue,
    can_reconcile: _reconcile,
    ...rest
  } = draft;
  return {
    draft: { ...rest, effect: "read", after_execution: "suspend", attempts_max: 1, local: true },
    refusal: { ...passed.content, after_execution: "suspend" },
  };
}

/** Beside the log: with the call whose layer failed. One that was left out changed nothing. */
function tellingFault(onFault: Wrapping["onFault"], onFailure: (failure: RunFailure) => void): Wrapping["onFault"] {
  return (failure) => {
    onFault(failure);
    if (failure.layer.onError !== "skip") onFailure({ stack: stackOf(failure.error) });
  };
}

interface Passed {
  /** Null: it runs elsewhere, later. */
  readonly content: ToolResultContent | null;
  readonly shown: LayeredResult;
}

async function wrapCall(
  { layers, onFault, foreignOf, runtime }: Wrapping,
  session: TurnSession,
  order: LocalCallOrder,
  stepIndex: number,
  run: (args: unknown) => Promise<ToolResultContent | null>,
): Promise<Passed> {
  const metadata = newMetadata();
  let args = structuredClone(order.arguments) as JsonObject;
  const tool = session.offered.find(({ definition }) => definition.tool_name === order.tool_name);
  const errorMessageLimit = tool === undefined ? MESSAGE_LIMIT : toolPolicy(tool.definition).error_message_limit;
  return await runOnion<Passed, LayeredResult>({
    layers: inOrder(layers, "toolCall"),
    inside: async () => {
      const content = await run(args);
      return { content, shown: layeredResult(order, content) };
    },
    show: ({ shown }) => shown,
    contextFor: (next) => ({
      ...identityOf(session, runtime),
      stepIndex,
      toolName: order.tool_name,
      toolCallId: order.tool_call_id,
      metadata,
      get args() {
        return args;
      },
      set args(given) {
        args = given;
      },
      next,
    }),
    take(returned, inside) {
      if (inside !== undefined && (returned === undefined || returned === inside.shown)) return inside;
      if (inside?.content === null) throw new Error("the call is sent: its result cannot be replaced"); // W3
      const afterExecution = inside === undefined ? "suspend" : order.after_execution;
      const content = contentOfLayer(order, returned, { afterExecution, errorMessageLimit });
      return { content, shown: layeredResult(order, content) };
    },
    refuse({ layer: { extension } }, inside) {
      const content =
        inside === undefined || inside.content === null
          ? refusedByLayer(order, `the extension ${extension} failed around this call; the tool was not started`, {
              extension,
            })
          : withheldResult(inside.content, extension); // W4
      return { content, shown: layeredResult(order, content) };
    },
    save: () => {
      const kept = isJsonObject(args) ? structuredClone(args) : args;
      return () => {
        args = kept;
      };
    },
    clock: session.worker.clock,
    signal: session.signal,
    onFault,
    foreignOf,
  });
}

/** W4 */
function failedLayer({ layer: { extension, type }, error }: LayerFailure): TesseraError {
  return errorOf("extension_failed", `the extension ${extension} failed around the ${type}`, {
    details: { extension },
    cause: error,
  });
}

/** The tool ran: its effect and its result stand, but the model is not shown the result. */
function withheldResult(ran: ToolResultContent, extension: string): ToolResultContent {
  const message = `the tool ran (${ran.status}), and then the extension ${extension} failed: the result is kept and not shown`;
  const suggestion = "Do not call it again for the same purpose; its effect took place.";
  const details = { extension, has_run: true, tool_status: ran.status, suggestion };
  const { error } = buildErrorResultFromException(errorOf("extension_failed", message, { details }));
  return { ...ran, status: "failed", error };
}

/** W2 */
function taken<T>(_returned: unknown, inside?: T): T {
  if (inside === undefined) throw new Error("it returned without calling next()");
  return inside;
}

/** W1 */
function stillOffered(
  { offered }: TurnSession,
  catalog: readonly ToolCatalogItem[],
  onWarning: (warning: string) => void,
): readonly RegisteredTool[] {
  const names = new Set(catalog.map((item: unknown) => (isJsonObject(item) ? item.name : null)));
  const known = offered.filter(({ definition }) => names.delete(definition.tool_name));
  if (names.size > 0) onWarning(`extensions cannot offer what the agent may not call: ${[...names].join(", ")}`);
  return known;
}

/** Both are what JSON can say, in the order in which it was written. */
function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
