// Damaged bundles and profiles: whatever comes in, the answer is a list of mistakes with places or a TesseraError, and soon.

import { TesseraError } from "@tessera/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { BUILTINS, MODEL, resource, WEATHER } from "./bundle-text.fixture.ts";
import { readProfileYaml } from "./profile-yaml.ts";
import { profilesOf } from "./profiles.ts";
import { readSwarmBundle } from "./swarm-bundle.ts";

const ANSWER_MS_MAX = 1_000;

const BUNDLE = [
  resource(
    "Package",
    "'@a/b'",
    "  version: 1.0.0\n  dependencies: [{name: x, version: '1'}]\n  registry: {url: https://x}\n",
  ),
  MODEL,
  resource(
    "Model",
    "s",
    "  provider: scripted\n  options:\n    rules:\n      - when: {step: 0, text: a}\n        reply: {text: b}\n",
  ),
  resource(
    "Agent",
    "a",
    "  modelConfig: {modelRef: {kind: Model, name: s}, params: {temperature: 1}}\n  prompt: {system: x}\n" +
      "  tools: [Tool/weather, {ref: {kind: Tool, name: bash, package: '@goondan/base'}}]\n  extensions: [Extension/e]\n" +
      "  tags: [a]\n  delegationPolicy: {targetTags: [a], targetProfiles: []}\n  mustEndWith: [weather__alerts]\n",
  ),
  resource("Extension", "e", "  entry: ./e.ts\n  config: {a: [1]}\n"),
  resource(
    "Swarm",
    "w",
    "  entryAgent: Agent/a\n  agents: [Agent/a]\n  policy: {maxStepsPerTurn: 3, lifecycle: {ttlSeconds: 1}}\n",
  ),
  WEATHER,
].join("---\n");
const PROFILE =
  "name: p\nworker_target: w\ntags: a, b\nsystem_prompt: x\ndelegation_policy: {target_tags: [a]}\nallowed_tools: [a]\n" +
  "must_end_with: [b]\nllm_config: {model: a/b, temperature: 1, options: {a: 1}, apiKey: {valueFrom: {env: A}}}\n";

const FRAGMENTS = [
  "\n",
  "  ",
  "- ",
  ": ",
  "[",
  "]",
  "{",
  "}",
  "*a",
  "'",
  '"',
  "---\n",
  "#",
  ",",
  "\u202e",
  "null",
  "1e999",
  "-1",
  "~",
  "true",
  "__proto__",
  "constructor",
  "ref",
  "selector",
  "Kind/x",
  "a/b/c",
  "{}",
  "[]",
  "value: x",
  "é",
  "𝒳",
  "/",
  "~1",
];

const damaged = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.nat(text.length), fc.nat(12), fc.constantFrom(...FRAGMENTS), fc.integer({ min: 1, max: 3 })), {
      minLength: 1,
      maxLength: 5,
    })
    .map((cuts) =>
      cuts.reduce(
        (now, [at, length, part, times]) => now.slice(0, at) + part.repeat(times) + now.slice(at + length),
        text,
      ),
    );

it("a damaged bundle is answered with places", async () => {
  await fc.assert(
    fc.asyncProperty(damaged(BUNDLE), async (text) => {
      const before = process.cpuUsage(); // of work: pauses of the machine do not count
      const bundle = await readSwarmBundle([{ path: "a.yaml", text }], { builtins: BUILTINS });
      for (const { message, line, column } of [...bundle.mistakes, ...bundle.warnings]) {
        expect(message).toMatch(/^a\.yaml:\d+:\d+: /);
        expect(Math.min(line, column)).toBeGreaterThan(0);
      }
      if (bundle.mistakes.length === 0) {
        for (const profile of profilesOf(bundle)) expect(profile.model.provider).not.toBe("");
      }
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000).toBeLessThan(ANSWER_MS_MAX);
    }),
    { numRuns: 500 },
  );
});

it("a damaged profile is answered with a place", () => {
  fc.assert(
    fc.property(fc.oneof(damaged(PROFILE), fc.string({ unit: "binary", maxLength: 60 })), (text) => {
      try {
        expect(readProfileYaml(text, { isKeyVariableAllowed: () => true }).profile.name).not.toBe("");
      } catch (error) {
        if (!TesseraError.is(error)) throw error;
        expect(error.message).toMatch(/^upload\.yaml:\d+:\d+: /);
      }
    }),
    { numRuns: 1_000 },
  );
});

it("the undamaged ones are right", async () => {
  expect((await readSwarmBundle([{ path: "a.yaml", text: BUNDLE }], { builtins: BUILTINS })).mistakes).toEqual([]);
  expect(readProfileYaml(PROFILE, { isKeyVariableAllowed: () => true }).profile.name).toBe("p");
});
