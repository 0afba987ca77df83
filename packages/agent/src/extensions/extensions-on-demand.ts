// The extensions of a process, loaded with the first turn of a profile that lists one: a process whose agents have none loads
// neither the layers nor the built-in extensions.
//
//   L1. `toolsOf` comes first in each turn (turn-session.ts), so what it loads is there for the layers of that turn.
//   L2. Once loaded, the host sees every turn: one without extensions may be taken up in the middle of another's layer.

import type { ExtensionHostOptions } from "./create-extension-host.ts";
import type { ExtensionHost } from "./extension-host.ts";

export function extensionsOnDemand(options: ExtensionHostOptions): ExtensionHost {
  let loading: Promise<ExtensionHost> | undefined;
  let host: ExtensionHost | undefined;

  async function load(): Promise<ExtensionHost> {
    loading ??= import("./create-extension-host.ts").then((module) => module.createExtensionHost(options));
    host = await loading;
    return host;
  }
  return {
    async toolsOf(profile, isTaken) {
      return profile.extensions.length === 0 ? [] : await (await load()).toolsOf(profile, isTaken); // L1
    },
    aroundTurn: (session, run) => (host === undefined ? run() : host.aroundTurn(session, run)), // L2
    aroundStep: (session, step, run) =>
      host === undefined ? run(session.offered) : host.aroundStep(session, step, run),
    aroundToolCall: (session, call, run) =>
      host === undefined ? run(call.order.arguments) : host.aroundToolCall(session, call, run),
    beforeSending: async (session, calls, replan) => (await host?.beforeSending(session, calls, replan)) ?? calls,
    toolOf: (call) => host?.toolOf(call) ?? null,
  };
}
