// What a fault of a chaos run is.
//
//   F1. `strike` resolves when the fault has happened. It throws when there is no proof that it happened.
//   F2. It heals what it did, except for what the system itself has to notice and mend: a line to the database that is half open
//       for good, a stream that is gone. Those may outlast the faults of a run, and then the verdict waits for them.

import type { TcpProxy } from "../../packages/testkit/src/tcp-proxy.ts";
import type { ChaosWorld, LinkName } from "./chaos-world.ts";
import type { Measures } from "./measures.ts";

interface FaultScene {
  readonly world: ChaosWorld;
  readonly measures: Measures;
  /** Draws from the run's seed. */
  readonly pick: <T>(from: readonly T[]) => T;
}

export interface Fault {
  readonly kind: string;
  /** Answers what was hit, or what came of it. */
  strike(scene: FaultScene): Promise<string>;
}

export function prove(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(`the fault did not happen: ${what}`); // F1
}

export function linkOf(world: ChaosWorld, name: LinkName): TcpProxy {
  const link = world.links.get(name);
  if (link === undefined) throw new Error(`there is no link ${name}`);
  return link;
}
