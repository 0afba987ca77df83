// BullMQ on Redis with an append-only file that is synchronized at every write: add a job, wait until it is finished.

import { Queue, QueueEvents, Worker } from "bullmq";
import { answerQuestions, needed, role, startSecond } from "../programs/program.ts";
import { measurePeer } from "./peer-load.mjs";

const { hostname: host, port } = new URL(needed("redis"));
const connection = { host, port: Number(port) };

if (role === "worker") {
  const worker = new Worker("echo", async (job) => job.data.args, { connection, concurrency: 64 });
  await worker.waitUntilReady();
  answerQuestions();
} else {
  const queue = new Queue("echo", { connection });
  const events = new QueueEvents("echo", { connection });
  for (const emitter of [queue, events]) emitter.setMaxListeners(0);
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  const worker = await startSecond("worker");
  await measurePeer(async () => {
    const options = { removeOnComplete: { count: 2_000 } };
    const job = await queue.add("echo", { args: { text: "hello world" } }, options);
    await job.waitUntilFinished(events);
  });
  worker.end();
  process.exit(0);
}
