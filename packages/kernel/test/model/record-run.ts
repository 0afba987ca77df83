// Writes down what a run of the model test has tried, where the records of the proof are asked for (TESSERA_PROOF=1).

import { engineFromEnvironment } from "@tessera/testkit";
import { appendProof } from "../../../../scripts/proof/record.ts";
import type { Sequences } from "./sequences.ts";

/** Called when all went well: a run that failed is no proof. */
export async function recordRun({ count, commands }: Sequences, what: "sequences" | "races"): Promise<void> {
  if (process.env.TESSERA_PROOF !== "1") return;
  const none = { sequences: 0, races: 0 };
  await appendProof({ run: "model", engine: engineFromEnvironment(), ...none, [what]: count, commands, violations: 0 });
}
