// The inline durable call: the tool runs where its agent runs, so there is no hop and there are two commits.

import type { Figures } from "../statistics.ts";
import { openCallLanes } from "./call-lanes.ts";
import { costFigures } from "./database-cost.ts";
import { loadFigures, measureLoad, warmUp } from "./load.ts";
import { openWorld } from "./postgres-world.ts";
import { concurrencies, needed, seconds, tell } from "./program.ts";

const LANES_MAX = 64;
const postgres = needed("postgres");
const world = await openWorld({ postgres, nats: undefined });
const { lanes, callInline } = await openCallLanes(world, LANES_MAX, "once");
await warmUp(lanes, seconds, callInline);
let figures: Figures = {};
for (const concurrency of concurrencies) {
  const prefix = `c${concurrency}_`;
  const used = lanes.slice(0, concurrency);
  let calls = 0;
  const counted = async (lane: (typeof used)[number]) => {
    await callInline(lane);
    calls += 1;
  };
  figures = { ...figures, ...loadFigures(prefix, await measureLoad(used, seconds, counted)) };
  if (concurrency > 1) continue;
  const again = () => measureLoad(used, Math.min(seconds, 1), counted);
  figures = { ...figures, ...(await costFigures(prefix, postgres, again, () => calls)) };
}
tell(figures);
await world.close();
