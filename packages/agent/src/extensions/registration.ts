// One extension, registered with one configuration: its layers, its tools, and the api that it was given.
//
//   G1. An extension whose `register` fails has registered nothing, not even a listener: half of one would be worse than none.
//   G2. A tool is checked like any other when it is registered; `register` throws the mistake.

import type { Clock } from "@tessera/kernel";
import { BadRequest, errorOf, type JsonValue } from "@tessera/protocol";
import { defineTool, type RegisteredTool, type ToolHandler } from "@tessera/tool";
import { type ForeignCode, ownApi, runForeign } from "@tessera/tool/run";
import type { ExtensionApi, ExtensionModule, LayerType, OnError } from "./api.ts";
import type { ExtensionEvents } from "./events.ts";
import { followingLogger } from "./extension-logger.ts";
import type { ExtensionState } from "./extension-state.ts";
import type { Layer } from "./layers.ts";

export interface Registration {
  readonly name: string;
  readonly layers: readonly Layer[];
  readonly tools: ReadonlyMap<string, RegisteredTool>;
}

export interface RegistrationDeps {
  readonly events: ExtensionEvents;
  /** Of the turn that runs now; undefined outside of one. */
  readonly currentState: () => ExtensionState | undefined;
  /** Whose tool this is, if an extension has registered one of the name. */
  readonly ownerOf: (toolName: string) => string | undefined;
  /** Of the turn that runs now, or the one for what is printed outside of turns. */
  readonly currentLog: (extension: string) => Console;
  readonly foreignOf: (extension: string) => ForeignCode;
  readonly clock: Pick<Clock, "after">;
}

/**
 * How long a layer itself may take. A local call is committed when its layers run, and its deadline leaves two leases (30 s)
 * beside the tool's own time: all its layers together must stay within half of that.
 */
const LAYER_MS: Readonly<Record<LayerType, { readonly default: number; readonly max: number }>> = {
  turn: { default: 120_000, max: 900_000 },
  step: { default: 120_000, max: 900_000 },
  toolCall: { default: 10_000, max: 15_000 },
};
const REGISTER_MS_MAX = 30_000;
const ON_ERROR: readonly OnError[] = ["fail", "skip"];

/** Rejects where `register` fails (G1). */
export async function registerExtension(
  module: ExtensionModule,
  config: JsonValue,
  worker: RegistrationDeps,
): Promise<Registration> {
  const { name } = module;
  const layers: Layer[] = [];
  const tools = new Map<string, RegisteredTool>();
  const listens: (() => void)[] = [];
  const state = () => {
    const current = worker.currentState();
    if (current === undefined) throw errorOf("conflict", "api.state is there only while a turn runs");
    return current;
  };
  const api: ExtensionApi = {
    pipeline: {
      register(type, run, { priority = 0, onError = "fail", timeoutMs = LAYER_MS[type]?.default } = {}) {
        if (!Object.hasOwn(LAYER_MS, type)) throw new BadRequest(`there is no layer type ${JSON.stringify(type)}`);
        if (typeof run !== "function") throw new BadRequest(`a ${type} layer must be a function`);
        if (!Number.isFinite(priority)) throw new BadRequest(`the priority of a ${type} layer must be a number`);
        if (!ON_ERROR.includes(onError)) throw new BadRequest(`onError of a ${type} layer must be fail or skip`);
        const { max } = LAYER_MS[type];
        if (!(timeoutMs >= 1 && timeoutMs <= max)) {
          throw new BadRequest(`timeoutMs of a ${type} layer must be a number from 1 to ${max}`);
        }
        layers.push({ extension: name, type, priority, onError, timeoutMs, run });
      },
    },
    tools: {
      register(item, handler) {
        const { source: _, ...spec } = item;
        const tool = defineTool({ ...spec, handler: handler as ToolHandler }); // G2
        const owner = tools.has(tool.name) ? name : worker.ownerOf(tool.name);
        if (owner !== undefined) {
          throw errorOf("conflict", `tool ${tool.name} is registered already, by extension ${owner}`);
        }
        tools.set(tool.name, tool as RegisteredTool);
      },
    },
    state: ownApi({
      get: async () => state().get(name),
      set: async (value: JsonValue) => await state().set(name, value),
    }),
    events: ownApi({
      on(event: string, handler: (...payload: unknown[]) => unknown) {
        const off = worker.events.on(event, { extension: name, handle: handler });
        listens.push(off);
        return off;
      },
      emit: (event: string, ...payload: unknown[]) => worker.events.emit(event, payload),
    }),
    logger: followingLogger(() => worker.currentLog(name)),
  };
  try {
    await inTime(
      runForeign(worker.foreignOf(name), () => module.register(api, config ?? undefined)), // so that a default of its parameter counts
      worker.clock,
    );
  } catch (error) {
    for (const off of listens) off(); // G1
    throw error;
  }
  return { name, layers, tools };
}

/** One that hangs in `register` would hold every turn of this process. */
async function inTime(work: void | Promise<void>, clock: Pick<Clock, "after">): Promise<void> {
  const { promise: isUp, reject } = Promise.withResolvers<void>();
  const timer = clock.after(REGISTER_MS_MAX, () =>
    reject(new Error(`register took longer than ${REGISTER_MS_MAX} ms`)),
  );
  try {
    await Promise.race([work, isUp]);
  } finally {
    timer.cancel();
  }
}
