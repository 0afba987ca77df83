// The process that holds the store: kernel, sweeper, worker and tool host in one. It is started twice on the same directory;
// the first one is killed in the middle of its work, the second one finishes it.
//
// usage: node holder.ts DIRECTORY LEDGER enqueue|recover (as a child with a channel, which carries its events)

import { openNode } from "@tessera/runtime";
import type { Tell } from "./story-event.ts";
import { startToolHost } from "./tool-host.ts";
import { enqueueTurn, startWorker } from "./worker.ts";

const SWEEP_INTERVAL_MS = 100;
const [data = "", ledger = "", task = ""] = process.argv.slice(2);
const tell: Tell = (event) => void process.send?.(event);

process.on("disconnect", () => process.exit(1)); // the story is over without us
process.on("SIGINT", () => undefined); // Ctrl-C reaches every process of a terminal; the story ends its own

const node = await openNode({
  data,
  sweepIntervalMs: SWEEP_INTERVAL_MS,
  onWarning: (warning) => tell({ event: "warning", says: warning }),
  onFatal: (error) => {
    console.error(error.message);
    process.exit(1);
  },
});
const { calls } = node.freed;
const freed = calls === 0 ? "" : `; ${calls} calls were held by a process that is gone`;
tell({ event: "store.opened", says: `holds the store${freed}`, freed_calls: calls });

const host = await startToolHost(node, ledger, tell);
const worker = await startWorker(node, tell);
if (task === "enqueue") await enqueueTurn(node, tell);
await worker.finished;
await Promise.all([worker.stop(), host.stop()]);
await node.close();
process.disconnect?.();
process.exit(0);
