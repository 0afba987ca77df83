// graphile-worker: a job, a worker process that writes the result and notifies, a caller that applies it.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { answerQuestions, role, startSecond } from "../programs/program.ts";
import { measurePeer } from "./peer-load.mjs";
import { openPool, openResults, writeResult } from "./result-table.mjs";

const logger = new Logger(() => () => undefined);
const pool = openPool(40);
for (const event of ["error", "connect"]) pool.on(event, () => undefined);

if (role === "worker") {
  const echo = async ({ id, args }) => await writeResult(pool, id, args);
  await run({ pgPool: pool, logger, concurrency: 32, noHandleSignals: true, taskList: { echo } });
  answerQuestions();
} else {
  const call = await openResults(pool);
  const jobs = await makeWorkerUtils({ pgPool: pool, logger });
  await jobs.migrate();
  const worker = await startSecond("worker");
  await measurePeer(() => call((id) => jobs.addJob("echo", { id, args: { text: "hello world" } })));
  worker.end();
  process.exit(0);
}
