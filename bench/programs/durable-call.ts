// The durable call: an agent persists a call, a tool service in another process runs an echo, the result is persisted, the
// agent is woken and applies it once. Without --nats the two processes meet over LISTEN/NOTIFY.
//
//   --effect once|read   --cost  also counts what a call costs the database; nothing else may run on the server then

import type { Effect } from "@tessera/kernel";
import type { Figures } from "../statistics.ts";
import { openCallLanes, serveEcho } from "./call-lanes.ts";
import { costFigures } from "./database-cost.ts";
import { loadFigures, measureLoad } from "./load.ts";
import { openWorld } from "./postgres-world.ts";
import {
  answerQuestions,
  concurrencies,
  cpuMicroseconds,
  flags,
  needed,
  role,
  seconds,
  startSecond,
  tell,
} from "./program.ts";

const LANES_MAX = 256;
const world = await openWorld({ postgres: needed("postgres"), nats: flags.nats });
if (role === "tool") {
  await serveEcho(world);
  answerQuestions();
} else {
  const service = await startSecond("tool");
  const { lanes, call } = await openCallLanes(world, LANES_MAX, (flags.effect ?? "once") as Effect);
  let figures: Figures = {};
  for (const concurrency of concurrencies) {
    const prefix = `c${concurrency}_`;
    const used = lanes.slice(0, concurrency);
    const before = { agent: cpuMicroseconds(), tool: await service.ask<number>("cpu") };
    let calls = 0;
    const counted = async (lane: (typeof used)[number]) => {
      await call(lane);
      calls += 1;
    };
    const measure = () => measureLoad(used, seconds, counted);
    if (flags.cost) {
      figures = { ...figures, ...(await costFigures(prefix, needed("postgres"), measure, () => calls)) };
    } else {
      figures = { ...figures, ...loadFigures(prefix, await measure()) };
      const agentCpu = cpuMicroseconds() - before.agent;
      const toolCpu = (await service.ask<number>("cpu")) - before.tool;
      figures = {
        ...figures,
        [`${prefix}agent_cpu_us`]: Math.round(agentCpu / calls),
        [`${prefix}tool_cpu_us`]: Math.round(toolCpu / calls),
      };
    }
  }
  tell(figures);
  service.end();
  await world.close();
}
