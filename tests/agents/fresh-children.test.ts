// Which of the agents that another one starts remember something: those that were there before. A new one holds its task alone.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTessera, type Tessera } from "@tessera/runtime";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type LoggingModel, MAKES_CALLS, startLoggingModel } from "./logging-model.ts";

const HELPS = "You help.";
const bundleYaml = (endpoint: string) => `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: logged }
spec: { provider: local, model: logged, endpoint: "${endpoint}" }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: lead }
spec:
  modelConfig: { modelRef: Model/logged }
  prompt: { system: "${MAKES_CALLS}" }
  tools: [{ kind: Tool, name: agents, package: "@tessera/base" }]
  allowedInternalTools: [launch_principal, delegate_async, fork_join]
  delegationPolicy: { targetProfiles: [helper] }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: helper }
spec: { modelConfig: { modelRef: Model/logged }, prompt: { system: "${HELPS}" } }
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: crew }
spec: { entryAgent: Agent/lead, agents: [Agent/lead, Agent/helper] }
`;

let bundle = "";
let model: LoggingModel;
let tessera: Tessera;

beforeEach(async () => {
  model = await startLoggingModel();
  bundle = mkdtempSync(join(tmpdir(), "tessera-children-"));
  writeFileSync(join(bundle, "tessera.yaml"), bundleYaml(model.endpoint));
  tessera = await createTessera({ bundle, api: false, log: () => {} });
});
afterEach(async () => {
  await tessera.close({ graceMs: 0 });
  await model[Symbol.asyncDispose]();
  rmSync(bundle, { recursive: true, force: true });
});

/** What the tool answered. */
async function lead(name: string, args: object): Promise<Record<string, unknown>> {
  const { status, deliverable } = await tessera.run({ agent: "lead", input: `${name} ${JSON.stringify(args)}` });
  expect(status).toBe("success");
  return JSON.parse(String(deliverable));
}

async function sentToHelper(asked: string): Promise<string[]> {
  await model.came(HELPS, asked, 1);
  const [first = []] = model.sent(HELPS, asked);
  return first.map(({ role, content }) => `${role}: ${content}`);
}

it("a child that another agent makes holds its task and nothing of other turns; one that it asks again remembers", async () => {
  await tessera.run({ agent: "helper", input: "known to the helper's own instance" });
  await lead("agents__request", { target: "helper", input: "hello" });
  expect(await sentToHelper("hello")).toHaveLength(4); // its instance of the caller's key, which is the same

  const { agent_id } = await lead("launch_principal", { profile_name: "helper", instruction: "the first" });
  await lead("launch_principal", { profile_name: "helper", instruction: "the second" });
  const task = (n: number) => ({ target_strategy: "new", target_ref: "helper", instruction: `part ${n}` });
  await lead("fork_join", { tasks: [task(1), task(2)] });
  const { instanceKey } = await lead("agents__spawn", { target: "helper" });
  await lead("agents__request", { target: "helper", instanceKey, input: "you are new" });
  for (const asked of ["the first", "the second", "part 1", "part 2", "you are new"]) {
    expect(await sentToHelper(asked)).toEqual([`system: ${HELPS}`, `user: ${asked}`]);
  }

  await lead("agents__request", { target: "helper", instanceKey, input: "you are known" });
  const known = [`system: ${HELPS}`, "user: you are new", 'assistant: I heard "you are new".', "user: you are known"];
  expect(await sentToHelper("you are known")).toEqual(known);
  await lead("delegate_async", { target_strategy: "reuse", target_ref: agent_id, instruction: "go on" });
  const reused = [`system: ${HELPS}`, "user: the first", 'assistant: I heard "the first".', "user: go on"];
  expect(await sentToHelper("go on")).toEqual(reused);
}, 120_000);
