// A user's own program that a test kills: it asks the agent `assistant` once and stays until then. argv[2] is its order as JSON.

import { createTessera } from "@tessera/runtime";

interface Order {
  readonly store: { readonly data: string } | { readonly postgres: string };
  readonly bundle: string;
  readonly input: string;
}

const { store, bundle, input } = JSON.parse(process.argv[2] ?? "{}") as Order;
const tessera = await createTessera({ ...store, bundle, leaseMs: 2_000, sweepIntervalMs: 200, log: () => {} });
const { deliverable } = await tessera.run({ agent: "assistant", instanceKey: "ann", input, idempotencyKey: input });
process.stdout.write(`${JSON.stringify({ deliverable })}\n`);
process.stdin.resume(); // until it is killed
