// A thread of an isolated child that ends the child when it must end, even while the child's own thread loops.
//
//   D1. The host holds the other end of a pipe and never writes to it: the end of the pipe is the end of the host.
//   D2. The heap limit of V8 does not count buffers, so the size of the whole process is watched as well.
//   D3. The whole process group goes, so that what the tool started goes with it.

import { flushCompileCache } from "node:module";
import { Socket } from "node:net";
import { workerData } from "node:worker_threads";
import { CHILD_WATCH_FD } from "./child-pipes.ts";

const MEMORY_LOOK_MS = 100;

const { memoryBytesMax } = workerData as { readonly memoryBytesMax: number };
const end = () => process.kill(0, "SIGKILL"); // D3, and by 0: in a namespace of its own the group has no number
const pipe = new Socket({ fd: CHILD_WATCH_FD, readable: true, writable: false });
pipe.on("end", end); // D1
pipe.on("error", end);
pipe.resume();
setInterval(() => {
  if (process.memoryUsage.rss() > memoryBytesMax) end(); // D2
}, MEMORY_LOOK_MS);
flushCompileCache(); // now, because this process ends by a kill more often than not
