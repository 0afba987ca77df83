// The extensions of a process, and the layers that they put around the turns of agents that list them.
//
//   H1. An extension is registered when the first turn of a profile that lists it is taken up, once for each configuration:
//       the profile's, or the module's own where the profile gives none.
//   H2. A profile gets its own extensions in the order it lists them, and no others.
//   H3. An extension cannot shadow a tool of the project: its own is left out, and told.

import { AsyncLocalStorage } from "node:async_hooks";
import type { Kernel } from "@tessera/kernel";
import type { JsonValue } from "@tessera/protocol";
import type { AgentProfile } from "../profile.ts";
import type { ExtensionLogEntry, ExtensionModule } from "./api.ts";
import { createEvents } from "./events.ts";
import type { ExtensionHost } from "./extension-host.ts";
import { type ExtensionState, openState } from "./extension-state.ts";
import type { Layer } from "./layers.ts";
import { type Registration, registerExtension } from "./registration.ts";
import { type Wrapping, wrapRemoteCall, wrapStep, wrapToolCall, wrapTurn } from "./wrap.ts";

export interface ExtensionHostOptions {
  readonly extensions: readonly ExtensionModule[];
  readonly kernel: Pick<Kernel, "reads" | "putAgent">;
  readonly onLog?: (entry: ExtensionLogEntry) => void;
  readonly onWarning?: (warning: string) => void;
}

/** The extensions of the turn that runs. */
interface Scope {
  readonly registrations: readonly Registration[];
  readonly state: ExtensionState;
}

export function createExtensionHost(options: ExtensionHostOptions): ExtensionHost {
  const { kernel, onLog = () => undefined, onWarning = () => undefined } = options;
  const modules = new Map(options.extensions.map((module) => [module.name, module]));
  const byConfig = new Map<string, Promise<Registration | null>>();
  const registered: Registration[] = [];
  const told = new Set<string>();
  /** Empty around a turn without extensions: one turn may be taken up in the middle of another. */
  const current = new AsyncLocalStorage<Scope | undefined>();
  let loading: Promise<unknown> = Promise.resolve();

  const events = createEvents((extension, event, error) =>
    onWarning(`extension ${extension} failed to handle the event ${event}: ${String(error)}`),
  );
  function warnOnce(warning: string): void {
    if (told.has(warning)) return;
    told.add(warning);
    onWarning(warning);
  }
  async function load(module: ExtensionModule, config: JsonValue): Promise<Registration | null> {
    try {
      const registration = await registerExtension(module, config, {
        events,
        onLog,
        currentState: () => current.getStore()?.state,
        ownerOf: (tool) => registered.find((each) => each.name !== module.name && each.tools.has(tool))?.name,
      });
      registered.push(registration);
      return registration;
    } catch (error) {
      onWarning(`extension ${module.name} could not be registered and is not used: ${String(error)}`);
      return null;
    }
  }
  /** H1, H2 */
  async function registrationsOf(profile: AgentProfile): Promise<Registration[]> {
    const found: Registration[] = [];
    for (const { name, config: given } of profile.extensions) {
      const module = modules.get(name);
      if (module === undefined) {
        warnOnce(`agent ${profile.name} lists extension ${name}, which is not here`);
        continue;
      }
      const config = given ?? module.config ?? null;
      const key = JSON.stringify([name, config]);
      const known = byConfig.get(key);
      const loaded = known ?? loading.then(() => load(module, config));
      if (known === undefined) {
        byConfig.set(key, loaded);
        loading = loaded;
      }
      const registration = await loaded;
      if (registration !== null) found.push(registration);
    }
    return found;
  }
  function wrapping(): Wrapping | null {
    const scope = current.getStore();
    if (scope === undefined) return null;
    const layers = scope.registrations.flatMap((registration) => registration.layers);
    return { layers, onFault, onWarning };
  }
  function onFault({ extension, type }: Layer, error: unknown): void {
    onWarning(`extension ${extension}: its ${type} layer failed and had no effect: ${String(error)}`);
  }

  return {
    async aroundTurn(session, run) {
      const registrations = await registrationsOf(session.profile);
      if (registrations.length === 0) return await current.run(undefined, run);
      const state = await openState(kernel, session);
      const turnStatus = async () => {
        const turn = await kernel.reads.turn(session.turn.project_id, session.turn.agent_turn_id);
        return turn?.ended_at ? String(turn.status) : "suspended";
      };
      await current.run({ registrations, state }, () => wrapTurn(wrapping() as Wrapping, { session, turnStatus, run }));
    },
    async aroundStep(session, step, run) {
      const wraps = wrapping();
      return await (wraps === null ? run(session.offered) : wrapStep(wraps, { session, step, run }));
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
      const tools = (await registrationsOf(profile)).flatMap(({ name, tools: own }) =>
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
      const own = current.getStore()?.registrations.find(({ tools }) => tools.has(tool_name));
      const owner = own ?? registered.find(({ tools }) => tools.has(tool_name));
      const tool = owner?.tools.get(tool_name) ?? null;
      // A call of the project's tool of this name has that one's pinned definition; ours are not in the store (H3).
      return definition === null || definition === tool?.definition ? tool : null;
    },
  };
}
