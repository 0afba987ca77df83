// The durable call: an agent persists a call, a tool service in another process runs an echo, the result is persisted, the
// agent is woken and applies it once. Without --nats the two processes meet over LISTEN/NOTIFY.
//
//   --effect once|read   --cost  also counts what a call costs the database; nothing else may run on the server then

import type { Effect } from "@tessera/kernel";
import type { Figures } from "../statistics.ts";
import { openCallLanes, serveEcho } from "./call-lanes.ts";
import { startCpuMeter } from "./cpu-per-call.ts";
import { costFigures } from "./database-cost.ts";
import { loadFigures, measureLoad, warmUp } from "./load.ts";
import { openWorld } from "./postgres-world.ts";
import { answerQuestions, concurrencies, flags, needed, role, seconds, startSecond, tell } from "./program.ts";

const LANES_MAX = 256;
const world = await openWorld({ postgres: needed("postgres"), nats: flags.nats });
if (role === "tool") {
  await serveEcho(world);
  answerQuestions();
} else {
  const service = await startSecond("tool");
  const { lanes, call } = await openCallLanes(world, LANES_MAX, (flags.effect ?? "once") as Effect);
  await warmUp(lanes, seconds, call);
  let figures: Figures = {};
  for (const concurrency of concurrencies) {
    const prefix = `c${concurrency}_`;
    const used = lanes.slice(0, concurrency);
    const meter = await startCpuMeter("agent", "tool", service);
    let calls = 0;
    const counted = async (lane: (typeof used)[number]) => {
      await call(lane);
      calls += 1;
    };
    const measure = () => measureLoad(used, seconds, counted);
    if (flags.cost) {
      figures = { ...figures, ...(await costFigures(prefix, needed("postgres"), measure, () => calls)) };
    } else {
      const load = loadFigures(prefix, await measure());
      figures = { ...figures, ...load, ...(await meter.perCall(prefix, calls)) };
    }
  }
  tell(figures);
  service.end();
  await world.close();
}
