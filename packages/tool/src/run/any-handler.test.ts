// Handlers at random: what they return or throw, fast-check decides.

import { validateToolResultContent } from "@tessera/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cycle, refusing, revoked, runHandler } from "../../test/handler-runs.ts";
import type { ExecutedCall } from "./execute-handler.ts";
import { toResultContent } from "./result-content.ts";

describe("whatever a handler does", () => {
  // Factories, because fast-check itself looks at the values it holds.
  const harmless = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withSparseArray: true,
    withObjectString: true,
    withBoxedValues: true,
  });
  const errorFields = fc.record(
    { message: harmless, name: harmless, code: harmless, retryable: harmless, suggestion: harmless, helpUrl: harmless },
    { requiredKeys: [] },
  );
  const anything: fc.Arbitrary<() => unknown> = fc.oneof(
    harmless.map((value) => () => value),
    errorFields.map((fields) => () => Object.assign(new Error(), fields)),
    fc.constantFrom<() => unknown>(
      revoked,
      refusing,
      cycle,
      () => [revoked()],
      () => ({ message: refusing(), code: revoked() }),
      () => () => 1,
      () => ({ __cg_control: "x" }),
      () => ({ __cg_control: { after_execution: "terminate" } }),
    ),
  );

  it("its call ends with a card that the kernel accepts", async () => {
    const plan = fc.record({
      make: anything,
      throws: fc.boolean(),
      mode: fc.constantFrom("run" as const, "reconcile" as const),
      limit: fc.integer({ min: 1, max: 200 }),
      afterExecution: fc.constantFrom("suspend" as const, "terminate" as const),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ make, throws, mode, limit, afterExecution }) => {
        const act = () => {
          if (throws) throw make();
          return make() as never;
        };
        const result = await runHandler({ handler: act, reconcile: act }, { mode, errorMessageLimit: limit });
        expect(result.error === undefined).toBe(result.status === "ok");
        expect((result.error?.message ?? "").length).toBeLessThanOrEqual(limit);
        // It survives the border between two processes.
        const sent = JSON.parse(JSON.stringify(result)) as ExecutedCall;
        expect(sent).toEqual(result);
        const content = toResultContent(sent, { afterExecution, errorMessageLimit: limit });
        validateToolResultContent(content);
        expect(content.error?.message.length ?? 0).toBeLessThanOrEqual(limit);
        expect(JSON.stringify(content)).toBe(
          JSON.stringify(toResultContent(result, { afterExecution, errorMessageLimit: limit })),
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
