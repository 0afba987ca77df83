// A run that waits on version 1 of a bundle and goes on under version 2, in which its tool or its profile is another.
//
//   the tool changed      the call keeps the definition it was made with; the code is the new one
//   the tool is gone      the call ends `stale_tool_definition` where a host of its target is, else at its deadline
//   the profile changed   the turn keeps the profile it began with; the next turn has the new one

import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readLedger } from "./acts-bundle.ts";
import { AgentsWorld } from "./agents-world.ts";

interface Version {
  readonly says: string;
  /** Exports of the tool `desk`, by name; a resource without any is left out. */
  readonly exports: readonly string[];
  readonly placement?: string;
  readonly parameters?: string;
  readonly calls?: string;
  readonly source?: string;
}

const TEXT = "{ type: object, properties: { text: { type: string } }, required: [text], additionalProperties: false }";
const LINES =
  "{ type: object, properties: { lines: { type: array, items: { type: string } } }, required: [lines], additionalProperties: false }";
const SERVICE = "placement: service\n  target: desk";

function filesOf(version: Version): Readonly<Record<string, string>> {
  const { says, exports: names, placement = SERVICE, parameters = TEXT } = version;
  const { calls = "desk__file", source = handlersOf(says, names) } = version;
  const argument = parameters === TEXT ? '{ text: "{{input}}" }' : '{ lines: ["{{input}}"] }';
  const tool = `---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: desk }
spec:
  entry: ./desk.ts
  ${placement}
  exports:
${names.map((name) => `    - { name: ${name}, description: "of ${says}", effect: idempotent, timeoutMs: 30000, parameters: ${parameters} }`).join("\n")}
`;
  const yaml = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
      - { when: { step: 0 }, reply: { text: "${says} begins", toolCalls: [ { name: ${calls}, arguments: ${argument} } ] } }
      - { when: { text: "stale_tool_definition" }, reply: { text: "${says} heard that the tool is gone" } }
      - { when: { text: "no_executor" }, reply: { text: "${says} found no executor" } }
      - { reply: { text: "${says} ends with {{result.by}}" } }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: clerk }
spec: { modelConfig: { modelRef: Model/script }, tools: [ ${names.length === 0 ? "" : "Tool/desk"} ] }
${names.length === 0 ? "" : tool}`;
  return { "tessera.yaml": yaml, "desk.ts": source };
}

const handlersOf = (says: string, names: readonly string[]) =>
  `const run = (_ctx, input) => ({ by: "${says}", input });
export const handlers = { ${names.map((name) => `${JSON.stringify(name)}: run`).join(", ")} };\n`;

const V1: Version = { says: "one", exports: ["file"] };

let world: AgentsWorld;
beforeEach(async () => {
  world = await AgentsWorld.open("postgres");
});
afterEach(async () => {
  await world.expectOneEndEach();
  await world.expectClean();
  await world.close();
});

/** A turn that waits for a service that does not run, its worker gone. */
async function park(version: Version): Promise<string> {
  const crew = await world.crew(world.bundle(filesOf(version)), { roles: ["worker", "pmo"] });
  const turn = await world.ask("clerk", "hello");
  await waitFor(async () => (await world.turn(turn)).turn_status === "suspended", { what: "the turn to wait" });
  await crew.close();
  return turn;
}

describe("a run that was suspended by version 1 of a bundle, resumed by version 2", () => {
  it("keeps the pinned definition where the tool changed, and its profile; a new turn has the new ones", async () => {
    const turn = await park(V1);
    await world.crew(world.bundle(filesOf({ says: "two", exports: ["file"], parameters: LINES })));
    expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
    // By the schema of version 2 these arguments would be refused.
    const [result] = await world.results(turn);
    expect(result?.content).toMatchObject({ status: "success", result: { by: "two", input: { text: "hello" } } });
    expect(await world.deliverable(turn)).toBe("one ends with two");

    const next = await world.ask("clerk", "again");
    expect(await world.ended(next)).toMatchObject({ error_message: null, status: "success" });
    expect((await world.results(next))[0]?.content.result).toEqual({ by: "two", input: { lines: ["again"] } });
    expect(await world.deliverable(next)).toBe("two ends with two");
    expect((await world.turn(next)).profile_box_id).not.toBe((await world.turn(turn)).profile_box_id);
  }, 60_000);

  it.each([
    ["was removed while its target is served", { says: "two", exports: ["other"], calls: "desk__other" }],
    ["was renamed within its resource", { says: "two", exports: ["file-2"], calls: "desk__file-2" }],
  ])(
    "gets stale_tool_definition where the tool %s",
    async (_, version: Version) => {
      const turn = await park(V1);
      await world.crew(world.bundle(filesOf(version)));
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      const [result] = await world.results(turn);
      expect(result?.content).toMatchObject({ status: "failed", error: { code: "stale_tool_definition" } });
      expect(await world.deliverable(turn)).toBe("one heard that the tool is gone");
      const next = await world.ask("clerk", "again");
      expect(await world.ended(next)).toMatchObject({ error_message: null, status: "success" });
      expect(await world.deliverable(next)).toBe("two ends with two");
    },
    60_000,
  );

  it.each([
    ["no executor serves its target any more", { says: "two", exports: [] }],
    [
      "it became inline and no executor serves its target",
      { says: "two", exports: ["file"], placement: "placement: inline" },
    ],
  ])(
    "ends at the call's deadline where %s",
    async (_, version: Version) => {
      const turn = await park(V1);
      await world.crew(world.bundle(filesOf(version)));
      // A deadline is a minute and more behind the tool's own timeout; the test lets it come now.
      await world.query("update state.calls set deadline_at = now(), due_at = now() where agent_turn_id = $1", [turn]);
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      const [result] = await world.results(turn);
      expect(result?.content).toMatchObject({ status: "timeout", error: { code: "no_executor" } });
      expect(await world.deliverable(turn)).toBe("one found no executor");
    },
    60_000,
  );
});

describe("an inline call whose worker was killed -9, given to a worker with another version", () => {
  const inline = { placement: "placement: inline" };
  /** Acts and hangs, until its process is killed. */
  async function killWhileItRuns(): Promise<string> {
    const ledger = join(world.directory, "ledger");
    const source = `import { appendFileSync } from "node:fs";
export const handlers = { file: async (ctx) => {
  appendFileSync(${JSON.stringify(ledger)}, JSON.stringify({ name: "file", key: ctx.idempotencyKey, attempt: ctx.attempt, pid: 0 }) + "\\n");
  await new Promise(() => setInterval(() => undefined, 1_000));
} };\n`;
    const child = await world.start(world.bundle(filesOf({ ...V1, ...inline, source })), ["worker"]);
    const turn = await world.ask("clerk", "hello");
    await waitFor(() => readLedger(ledger).length === 1, { what: "the tool to act", timeoutMs: 20_000 });
    await child.kill();
    return turn;
  }

  it("runs the new code with the pinned definition where the tool changed", async () => {
    const turn = await killWhileItRuns();
    await world.crew(world.bundle(filesOf({ ...inline, says: "two", exports: ["file"], parameters: LINES })));
    expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
    const [result] = await world.results(turn);
    expect(result?.content).toMatchObject({ status: "success", result: { by: "two", input: { text: "hello" } } });
    expect(await world.deliverable(turn)).toBe("one ends with two");
  }, 60_000);

  it.each([
    ["was removed", { ...inline, says: "two", exports: ["other"], calls: "desk__other" }],
    ["moved to a service", { says: "two", exports: ["file"] }],
  ])(
    "ends stale_tool_definition where the tool %s",
    async (_, version: Version) => {
      const turn = await killWhileItRuns();
      await world.crew(world.bundle(filesOf(version)));
      expect(await world.ended(turn)).toMatchObject({ error_message: null, status: "success" });
      const [result] = await world.results(turn);
      expect(result?.content).toMatchObject({ status: "failed", error: { code: "stale_tool_definition" } });
      expect(await world.deliverable(turn)).toBe("one heard that the tool is gone");
    },
    60_000,
  );
});
