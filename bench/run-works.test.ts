// The cheapest work, run for a moment as the command runs it.

import { expect, it } from "vitest";
import { runWorks } from "./run-works.ts";
import { Servers } from "./servers.ts";
import { WORKS } from "./works.ts";

const options = { servers: new Servers(), repetitions: 1, seconds: 0.1, isQuick: true };

it("a work reports its figures, and one that fails is named with its reason", { timeout: 60_000 }, async () => {
  const dispatch = WORKS.filter(({ name }) => name === "dispatch");
  const broken = { name: "broken", what: "a program without its server", program: "programs/inline-call.ts" };
  const lines: string[] = [];
  const ran = await runWorks([...dispatch, broken], { ...options, onProgress: (line) => void lines.push(line) });
  expect(ran.figures.dispatch?.p50_us?.median).toBeGreaterThan(0);
  expect(ran.failures).toEqual({ broken: expect.stringContaining("--postgres is needed") });
  expect(lines).toHaveLength(2);
});
