// fork_join of 50: a turn gives 50 tasks to 50 new agents at once, each echoes its task, and the turn ends with the answer.
// From asking for the turn to its deliverable; worker, PMO and sweeper in one process, PostgreSQL and NATS beside it.

import { createTessera, defineAgent, defineModel, defineSwarm } from "@tessera/runtime";
import { loadFigures, measureLoad } from "./load.ts";
import { flags, needed, seconds, tell } from "./program.ts";

const CHILDREN = 50;
const tasks = Array.from({ length: CHILDREN }, (_, n) => ({
  target_strategy: "new",
  target_ref: "echo",
  instruction: `part ${n}`,
}));
const model = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { agent: "boss", step: 0 }, reply: { toolCalls: [{ name: "fork_join", arguments: { tasks } }] } },
      { when: { agent: "boss" }, reply: { text: "{{result.results.49.summary}}" } },
      { reply: { text: "{{input}}" } },
    ],
  },
});
const echo = defineAgent({ name: "echo", model });
const boss = defineAgent({
  name: "boss",
  model,
  allowedInternalTools: ["fork_join"],
  delegationPolicy: { targetProfiles: ["echo"] },
});
const swarm = defineSwarm({ name: "crew", entryAgent: boss, agents: [boss, echo] });
const tessera = await createTessera({
  postgres: needed("postgres"),
  nats: flags.nats,
  migrate: "yes",
  env: {},
  roles: ["kernel", "worker", "pmo"],
  concurrencyMax: 64,
  models: [model],
  agents: [boss, echo],
  swarms: [swarm],
  log: (line) => (line.includes('"level":"info"') ? undefined : console.error(line)),
});
let runs = 0;
const load = await measureLoad([null], seconds, async () => {
  const { status, deliverable } = await tessera.run({ input: "go", instanceKey: `run-${runs++}` });
  if (status !== "success" || deliverable !== "part 49") throw new Error(`it ended ${status} with ${deliverable}`);
});
tell(loadFigures("", load));
await tessera.close({ graceMs: 0 });
