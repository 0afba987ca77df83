// Tools that go out of a project when no call waits for them any more.

import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { createLeavingTools } from "./leaving-tools.ts";

function bench(answers: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const counts = new Map<string, number>();
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const leaving = createLeavingTools({
    kernel: {
      async removeTool({ tool_name, expected_digest }) {
        const n = counts.get(tool_name) ?? 0;
        counts.set(tool_name, n + 1);
        asked.push(`${tool_name}@${expected_digest}`);
        const answer = answers[tool_name]?.[n] ?? "accepted";
        if (answer === "away") throw new Error("the store is away");
        return (answer === "accepted" ? { outcome: "accepted" } : { outcome: "rejected", code: answer }) as never;
      },
    },
    project: "p",
    clock,
    onWarning: (warning) => void warnings.push(warning),
  });
  return { asked, clock, leaving, warnings };
}

it("are asked for again until they may go, and those of other processes are left alone", async () => {
  const { asked, clock, leaving, warnings } = bench({
    waited: ["conflict", "away", "conflict"],
    theirs: ["precondition_failed"],
  });
  await leaving.leave(
    new Map([
      ["waited", "d1"],
      ["theirs", "d2"],
      ["free", "d3"],
    ]),
  );
  expect(asked.splice(0)).toEqual(["waited@d1", "theirs@d2", "free@d3"]);
  for (let n = 0; n < 6; n++) await clock.advance(1_000);
  expect(asked).toEqual(Array(3).fill("waited@d1"));
  expect(warnings).toEqual(["tools that left the bundle could not be removed: Error: the store is away"]);
});

it("that come back are kept, and nothing is asked for after the end", async () => {
  const { asked, clock, leaving } = bench({
    back: ["conflict", "conflict"],
    late: ["conflict", "conflict", "conflict"],
  });
  await leaving.leave(
    new Map([
      ["back", "d1"],
      ["late", "d2"],
    ]),
  );
  leaving.keep(["back"]);
  asked.length = 0;
  await clock.advance(1_000);
  expect(asked).toEqual(["late@d2"]);
  leaving.stop();
  for (let n = 0; n < 3; n++) await clock.advance(1_000);
  expect(asked).toEqual(["late@d2"]);
});
