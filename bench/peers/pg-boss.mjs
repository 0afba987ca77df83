// pg-boss with its notifications on: a job, a worker process that writes the result and notifies, a caller that applies it.

import { PgBoss } from "pg-boss";
import { answerQuestions, needed, role, startSecond } from "../programs/program.ts";
import { measurePeer } from "./peer-load.mjs";
import { openPool, openResults, writeResult } from "./result-table.mjs";

const LANES = 4;
const pool = openPool();
const isWorker = role === "worker";
const boss = new PgBoss({ connectionString: needed("postgres"), max: 20, useListenNotify: isWorker });
boss.on("error", (error) => console.error(error.message));
await boss.start();

if (isWorker) {
  const work = async (jobs) => {
    await Promise.all(jobs.map(({ data }) => writeResult(pool, data.id, data.args)));
  };
  for (let lane = 0; lane < LANES; lane += 1) {
    await boss.work("echo", { pollingIntervalSeconds: 0.5, batchSize: 16 }, work);
  }
  answerQuestions();
} else {
  const call = await openResults(pool);
  await boss.createQueue("echo", { notify: true });
  const worker = await startSecond("worker");
  await measurePeer(() => call((id) => boss.send("echo", { id, args: { text: "hello world" } })));
  worker.end();
  process.exit(0);
}
