// A local call beside a call for others reports like an executor, and its report finds the store away.

import { join } from "node:path";
import { errorOf } from "@tessera/protocol";
import { expect, it } from "vitest";
import { actsFiles, readLedger } from "./acts-bundle.ts";
import { AgentsWorld } from "./agents-world.ts";

it("the result of a local call is reported again until the store has taken it, and the tool runs once", async () => {
  const world = await AgentsWorld.open("pglite");
  try {
    const ledger = join(world.directory, "ledger");
    const doer = { name: "doer", calls: ["remote__read", "acts__once"] };
    const bundle = world.bundle(actsFiles([doer], { ledger }));
    const { kernel } = world.node;
    let refused = 0;
    const report: typeof kernel.report = (request) => {
      if (refused === 2) return kernel.report(request);
      refused += 1;
      return Promise.reject(errorOf("storage_error", "the store is away"));
    };
    await world.crew(bundle, { roles: ["tools"] });
    await world.crew(bundle, { roles: ["worker"], kernel: { ...kernel, report } });
    const turn = await world.ask("doer", "go");
    expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
    const results = (await world.results(turn)).map(({ tool, content }) => [tool, content.status]);
    expect(results).toEqual([
      ["remote__read", "success"],
      ["acts__once", "success"],
    ]);
    expect(refused).toBe(2);
    expect(readLedger(ledger).filter((entry) => entry.name === "once")).toHaveLength(1);
    await world.expectClean();
  } finally {
    await world.close();
  }
});
