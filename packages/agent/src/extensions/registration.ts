// One extension, registered with one configuration: its layers, its tools, and the api that it was given.
//
//   G1. An extension whose `register` fails has registered nothing: half of one would be worse than none.
//   G2. A tool is checked like any other when it is registered; the mistake is thrown to whoever registered it.

import { format } from "node:util";
import { BadRequest, errorOf, type JsonValue } from "@tessera/protocol";
import { defineTool, type RegisteredTool, type ToolHandler } from "@tessera/tool";
import type { ExtensionApi, ExtensionLogEntry, ExtensionModule, LayerType } from "./api.ts";
import type { ExtensionEvents } from "./events.ts";
import type { ExtensionState } from "./extension-state.ts";
import type { Layer } from "./layers.ts";

export interface Registration {
  readonly name: string;
  readonly layers: readonly Layer[];
  readonly tools: ReadonlyMap<string, RegisteredTool>;
}

export interface RegistrationWorld {
  readonly events: ExtensionEvents;
  /** Of the turn that runs now; undefined outside of one. */
  readonly currentState: () => ExtensionState | undefined;
  /** Whose tool this is, if an extension has registered one of the name. */
  readonly ownerOf: (toolName: string) => string | undefined;
  readonly onLog: (entry: ExtensionLogEntry) => void;
}

const LAYER_TYPES: readonly LayerType[] = ["turn", "step", "toolCall"];

/** Rejects where `register` fails (G1). */
export async function registerExtension(
  module: ExtensionModule,
  config: JsonValue,
  world: RegistrationWorld,
): Promise<Registration> {
  const { name } = module;
  const layers: Layer[] = [];
  const tools = new Map<string, RegisteredTool>();
  const state = () => {
    const current = world.currentState();
    if (current === undefined) throw errorOf("conflict", "api.state is there only while a turn runs");
    return current;
  };
  const log = (level: ExtensionLogEntry["level"]) => {
    return (...message: unknown[]) => world.onLog({ extension: name, level, message: format(...message) });
  };
  const api: ExtensionApi = {
    pipeline: {
      register(type, run, { priority = 0 } = {}) {
        if (!LAYER_TYPES.includes(type)) throw new BadRequest(`there is no layer type ${JSON.stringify(type)}`);
        if (typeof run !== "function") throw new BadRequest(`a ${type} layer must be a function`);
        if (!Number.isFinite(priority)) throw new BadRequest(`the priority of a ${type} layer must be a number`);
        layers.push({ extension: name, type, priority, run });
      },
    },
    tools: {
      register(item, handler) {
        const tool = defineTool({ ...item, handler: handler as ToolHandler }); // G2
        const owner = tools.has(tool.name) ? name : world.ownerOf(tool.name);
        if (owner !== undefined) {
          throw errorOf("conflict", `tool ${tool.name} is registered already, by extension ${owner}`);
        }
        tools.set(tool.name, tool as unknown as RegisteredTool);
      },
    },
    state: {
      get: async () => state().get(name),
      set: async (value) => await state().set(name, value),
    },
    events: {
      on: (event, handler) => world.events.on(event, { extension: name, handle: handler }),
      emit: (event, payload) => world.events.emit(event, payload),
    },
    logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
  };
  await module.register(api, config);
  return { name, layers, tools };
}
