// The extensions of a process, and the layers that they put around the turns of agents that list them.
//
//   H1. An extension is registered when the first turn of a profile that lists it is taken up, once for each configuration:
//       the profile's, or the module's own where the profile gives none.
//   H2. A profile gets its own extensions in the order it lists them, and no others.
//       One that is not here or cannot be registered ends the turn with E_EXT_LOAD, unless it has `onError: skip`. One that
//       failed to register is tried again a little later.
//   H3. An extension cannot shadow a tool of the project: its own is left out, and that is reported.
//   H4. The built-in extensions are in every process; a profile names them with their package, so that one of a bundle never hides
//       one, nor the other way round.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock, Kernel } from "@tessera/kernel";
import { errorOf, type JsonValue } from "@tessera/protocol";
import { type ForeignCode, stackOf } from "@tessera/tool/run";
import type { TurnSession } from "../loop/turn-session.ts";
import type { AgentProfile } from "../profile.ts";
import { callersOf } from "../runtime/callers.ts";
import type { ExtensionLogEntry, ExtensionModule, OnError } from "./api.ts";
import { BUILTIN_EXTENSIONS } from "./builtin/index.ts";
import { inputEventOf, runtimeOf } from "./contexts.ts";
import { createEvents } from "./events.ts";
import { type ExtensionHost, missingExtension } from "./extension-host.ts";
import { createExtensionLog } from "./extension-logger.ts";
import { type ExtensionState, openState } from "./extension-state.ts";
import type { LayerFailure } from "./layers.ts";
import { createMessageEvents } from "./message-events.ts";
import { conversationOf, messagesOf } from "./message-view.ts";
import { type Registration, registerExtension } from "./registration.ts";
import { type Wrapping, wrapRemoteCall, wrapStep, wrapToolCall, wrapTurn } from "./wrap.ts";

export interface ExtensionHostOptions {
  readonly extensions: readonly ExtensionModule[];
  readonly kernel: Pick<Kernel, "reads" | "putAgent">;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  /** Told to extensions as `runtime.agent.bundleRoot`. */
  readonly bundleRoot?: string | undefined;
  readonly onLog?: ((entry: ExtensionLogEntry) => void) | undefined;
  readonly onWarning?: (warning: string) => void;
}

const REGISTER_AGAIN_MS = 5_000;

interface Used {
  readonly registration: Registration;
  /** What the bundle or the profile says for all its layers. */
  readonly onError: OnError | undefined;
}

/** The extensions of the turn that runs. */
interface Scope {
  readonly used: readonly Used[];
  readonly state: ExtensionState;
  readonly logOf: (extension: string) => Console;
  readonly wrapping: Wrapping;
}

export function createExtensionHost(options: ExtensionHostOptions): ExtensionHost {
  const { kernel, clock, onLog = () => undefined, onWarning = () => undefined } = options;
  const modules = new Map(options.extensions.map((module) => [module.name, module]));
  const builtins = new Map<string, ExtensionModule>(BUILTIN_EXTENSIONS.map((module) => [module.name, module])); // H4
  const byConfig = new Map<string, { readonly loaded: Promise<Registration>; againAt: number }>();
  const registered: Registration[] = [];
  const told = new Set<string>();
  /** Empty around a turn without extensions: one turn may be taken up in the middle of another. */
  const current = new AsyncLocalStorage<Scope | undefined>();
  let loading: Promise<unknown> = Promise.resolve();

  const foreignOf = (extension: string): ForeignCode => ({
    name: `the extension ${extension}`,
    onStray: (error) => onWarning(`the extension ${extension} left an unhandled failure behind: ${stackOf(error)}`),
  });
  const events = createEvents(foreignOf, (extension, event, error) =>
    onWarning(`extension ${extension} failed to handle the event ${event}: ${stackOf(error)}`),
  );
  const logOutside = kept((extension) => createExtensionLog(extension, onLog));
  function warnOnce(warning: string): void {
    if (told.has(warning)) return;
    told.add(warning);
    onWarning(warning);
  }
  async function load(module: ExtensionModule, config: JsonValue): Promise<Registration> {
    const registration = await registerExtension(module, config, {
      events,
      clock,
      foreignOf,
      currentLog: (extension) => (current.getStore()?.logOf ?? logOutside)(extension),
      currentState: () => current.getStore()?.state,
      ownerOf: (tool) => registered.find((each) => each.name !== module.name && each.tools.has(tool))?.name,
    });
    registered.push(registration);
    return registration;
  }
  /** Once for each configuration (H1); one that failed is tried again, but not by every turn (H2). */
  function loadOnce(module: ExtensionModule, config: JsonValue): Promise<Registration> {
    const key = JSON.stringify([module.name, builtins.get(module.name) === module, config]);
    const known = byConfig.get(key);
    if (known !== undefined && !(clock.monotonicMs() > known.againAt)) return known.loaded;
    const loaded = loading.then(() => load(module, config));
    const entry = { loaded, againAt: Number.POSITIVE_INFINITY };
    byConfig.set(key, entry);
    loading = loaded.catch(() => {
      entry.againAt = clock.monotonicMs() + REGISTER_AGAIN_MS;
    });
    return loaded;
  }
  /** H1, H2 */
  async function extensionsOf(profile: AgentProfile): Promise<Used[]> {
    const used: Used[] = [];
    for (const { name, package: from, config: given, on_error } of profile.extensions) {
      const module = (from === undefined ? modules : builtins).get(name);
      const onError = module?.onError ?? on_error;
      if (module === undefined) {
        if (onError !== "skip") throw missingExtension(profile.name, name);
        warnOnce(`agent ${profile.name} lists extension ${name}, which is not here; its turns go on without it`);
        continue;
      }
      try {
        used.push({ registration: await loadOnce(module, given ?? module.config ?? null), onError });
      } catch (error) {
        const outcome = onError === "skip" ? "is not used" : `keeps the turns of agent ${profile.name} from running`;
        warnOnce(`extension ${name} could not be registered and ${outcome}: ${stackOf(error)}`);
        if (onError !== "skip")
          throw errorOf("E_EXT_LOAD", `the extension ${name} could not be registered`, { cause: error });
      }
    }
    return used;
  }
  /** Around a stretch of a turn. */
  async function wrappingOf(session: TurnSession, used: readonly Used[]): Promise<Wrapping> {
    const layers = used.flatMap(({ registration, onError }) =>
      registration.layers.map((layer) => (onError === undefined ? layer : { ...layer, onError })),
    );
    const callers = await callersOf(kernel, session.turn);
    const inputEvent = inputEventOf(session, callers);
    return {
      ...{ layers, onFault, foreignOf, onWarning, inputEvent },
      runtime: runtimeOf(session, options.bundleRoot ?? "", inputEvent, callers),
      messages: createMessageEvents(session, onWarning),
      conversation: conversationOf(session, messagesOf(session), session.cards.length),
    };
  }
  const wrapping = () => current.getStore()?.wrapping ?? null;
  function onFault({ layer: { extension, type, onError }, error, hasRun }: LayerFailure): void {
    const place = hasRun ? "after next()" : "before next()";
    const outcome = onError === "skip" ? "was left out" : "let nothing through";
    onWarning(`extension ${extension}: its ${type} layer failed ${place} and ${outcome}: ${stackOf(error)}`);
  }

  return {
    async aroundTurn(session, run) {
      const used = await extensionsOf(session.profile);
      if (used.length === 0) return await current.run(undefined, run);
      const state = await openState(kernel, session);
      const turnStatus = async () => {
        const turn = await kernel.reads.turn(session.turn.project_id, session.turn.agent_turn_id);
        return turn?.ended_at ? String(turn.status) : "suspended";
      };
      const { project_id, agent_turn_id } = session.turn;
      const logOf = kept((extension) => createExtensionLog(extension, onLog, { project_id, agent_turn_id }));
      const wraps = await wrappingOf(session, used);
      const scope = { used, state, logOf, wrapping: wraps };
      return await current.run(scope, () => wrapTurn(wraps, { session, turnStatus, run }));
    },
    async aroundStep(session, step, run) {
      const wraps = wrapping();
      const used = current.getStore()?.used ?? [];
      const ownerOf = (tool: string) =>
        used.find(({ registration }) => registration.tools.has(tool))?.registration.name;
      return await (wraps === null ? run(session.offered) : wrapStep(wraps, { session, step, ownerOf, run }));
    },
    async aroundToolCall(session, call, run) {
      const wraps = wrapping();
      return await (wraps === null ? run(call.order.arguments) : wrapToolCall(wraps, { session, ...call, run }));
    },
    async beforeSending(session, calls, replan) {
      const wraps = wrapping();
      if (wraps === null) return calls;
      return await Promise.all(calls.map((call) => wrapRemoteCall(wraps, { session, call, replan })));
    },
    async toolsOf(profile, isTaken) {
      const tools = (await extensionsOf(profile)).flatMap(({ registration: { name, tools: own } }) =>
        [...own.values()].map((tool) => ({ name, tool })),
      );
      return tools.flatMap(({ name, tool }) => {
        const { tool_name } = tool.definition;
        if (!isTaken(tool_name)) return [tool];
        warnOnce(`extension ${name} may not offer ${tool_name}: the project has a tool of this name`); // H3
        return [];
      });
    },
    toolOf({ tool_name, definition }) {
      const own = current.getStore()?.used.find(({ registration }) => registration.tools.has(tool_name));
      const owner = own?.registration ?? registered.find(({ tools }) => tools.has(tool_name));
      const tool = owner?.tools.get(tool_name) ?? null;
      // A call of the project's tool of this name has that one's pinned definition; ours are not in the store (H3).
      return definition === null || definition === tool?.definition ? tool : null;
    },
  };
}

/** Each value is made once. */
function kept<T>(make: (key: string) => T): (key: string) => T {
  const made = new Map<string, T>();
  return (key) => {
    const known = made.get(key) ?? make(key);
    made.set(key, known);
    return known;
  };
}
