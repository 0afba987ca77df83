// The node behind a command that asks, where no process has the store: opened, asked and closed again.
//
//   N1. Looking at a store does not make one: a mistyped --data is told, not filled. Nothing is swept: whoever works here
//       does that.

import { type Node, openNode } from "@tessera/runtime";
import type { ProjectFlags } from "../flags/flags.ts";
import { chooseStore, warnings } from "../flags/store-flags.ts";
import type { Terminal } from "../output/printing-gate.ts";

export async function withNode<T>(
  flags: ProjectFlags,
  terminal: Terminal,
  work: (node: Node) => Promise<T>,
): Promise<T> {
  const nats = flags.nats ?? (terminal.env.TESSERA_NATS || undefined);
  const node = await openNode({
    ...chooseStore(flags, terminal.env),
    ...(nats === undefined ? {} : { nats }),
    sweep: false, // N1
    migrate: "check", // N1
    onWarning: warnings(flags, terminal),
    onFatal: (error) => terminal.err(`tessera: the embedded database broke: ${error.message}\n`),
  });
  try {
    return await work(node);
  } finally {
    await node.close();
  }
}
