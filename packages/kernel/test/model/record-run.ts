// Writes down what a run of the model test has tried, where the records of the proof are asked for (TESSERA_PROOF=1).
//
//   R1. A run that failed is written down, too, as one violation.
//   R2. The line names the commit that the run began with.

import { engineFromEnvironment } from "@tessera/testkit";
import { appendProof, PROOF_FILE, stamp } from "../../../../scripts/proof/record.ts";
import type { Sequences } from "./sequences.ts";

export async function recordRun(
  sequences: Sequences,
  what: "sequences" | "races",
  run: () => Promise<void>,
): Promise<void> {
  if (process.env.TESSERA_PROOF !== "1") return await run();
  const stamped = stamp(); // R2
  let violations = 1;
  try {
    await run();
    violations = 0;
  } finally {
    const { count, commands } = sequences;
    const tried = { sequences: 0, races: 0, [what]: count, commands };
    await appendProof({ run: "model", engine: engineFromEnvironment(), ...tried, violations }, PROOF_FILE, stamped); // R1
  }
}
