// The durable call on the embedded store, agent and tool in one process, over the bus in memory. With --disk in a directory,
// else in memory.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNode } from "@tessera/runtime";
import type { Figures } from "../statistics.ts";
import { openCallLanes, serveEcho } from "./call-lanes.ts";
import { loadFigures, measureLoad, warmUp } from "./load.ts";
import { concurrencies, flags, seconds, tell } from "./program.ts";

const LANES_MAX = 64;
const directory = flags.disk ? mkdtempSync(join(tmpdir(), "tessera-bench-")) : undefined;
const node = await openNode({ data: directory, onWarning: console.error, onFatal: console.error });
await serveEcho(node);
const { lanes, call } = await openCallLanes(node, LANES_MAX, "once");
await warmUp(lanes, seconds, call);
let figures: Figures = {};
for (const concurrency of concurrencies) {
  const load = await measureLoad(lanes.slice(0, concurrency), seconds, call);
  figures = { ...figures, ...loadFigures(`c${concurrency}_`, load) };
}
tell(figures);
await node.close();
if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
