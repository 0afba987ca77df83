// A turn of two steps, from asking for it to its deliverable, with everything the product has: the loop, transcripts, the
// argument gate, events. The scripted model calls a tool, a service in another process answers, the model answers with text.

import { createTessera, defineAgent, defineModel, defineTool, type TesseraOptions } from "@tessera/runtime";
import type { Figures } from "../statistics.ts";
import { loadFigures, measureLoad, WARM_LANES, warmUp } from "./load.ts";
import { answerQuestions, concurrencies, flags, needed, role, seconds, startSecond, tell } from "./program.ts";

const echo = defineTool({
  name: "echo__run",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const,
  effect: "once",
  placement: "service",
  target: "echo",
  handler: (_, { text }) => ({ text }),
});
const model = defineModel({
  name: "script",
  provider: "scripted",
  options: {
    rules: [
      { when: { step: 0 }, reply: { toolCalls: [{ name: "echo__run", arguments: { text: "hello world" } }] } },
      { reply: { text: "{{result.text}}" } },
    ],
  },
});
const common: TesseraOptions = {
  postgres: needed("postgres"),
  nats: flags.nats,
  migrate: "yes",
  env: {},
  tools: [echo],
  concurrencyMax: 64,
  log: (line) => (line.includes('"level":"info"') ? undefined : console.error(line)),
};

if (role === "tool") {
  await createTessera({ ...common, roles: ["tools"] });
  answerQuestions();
} else {
  const agent = defineAgent({ name: "echo", model, tools: [echo] });
  const tessera = await createTessera({ ...common, roles: ["kernel", "worker"], models: [model], agents: [agent] });
  const service = await startSecond("tool");
  const run = async (lane: number) => {
    const { status, error } = await tessera.run({ input: "go", instanceKey: `lane-${lane}-${runs++}` });
    if (status !== "success") throw new Error(`the turn ended ${status}: ${JSON.stringify(error)}`);
  };
  let runs = 0;
  const lanes = Array.from({ length: WARM_LANES }, (_, n) => n);
  await warmUp(lanes, seconds, run);
  let figures: Figures = {};
  for (const concurrency of concurrencies) {
    figures = {
      ...figures,
      ...loadFigures(`c${concurrency}_`, await measureLoad(lanes.slice(0, concurrency), seconds, run)),
    };
  }
  tell(figures);
  service.end();
  await tessera.close({ graceMs: 0 });
}
