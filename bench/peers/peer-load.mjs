// What the peers have in common: one piece of work, measured alone and with 64 at once.
//
//   L1. An engine that runs inside its caller gets two processes of 32, because the others have two processes, too.

import { keepUp, lanesOf, loadFigures, measureLoad, warmUp } from "../programs/load.ts";
import { answerQuestions, role, seconds, startSecond, tell } from "../programs/program.ts";

const CONCURRENCY = 64;

/** `run` is one piece of work from its request to its applied answer. */
export async function measurePeer(run) {
  await warmUp(lanesOf(CONCURRENCY), seconds, run);
  const alone = loadFigures("c1_", await measureLoad([null], seconds, run));
  const together = await measureLoad(lanesOf(CONCURRENCY), seconds, run);
  tell({ ...alone, ...loadFigures(`c${CONCURRENCY}_`, together) });
}

/** L1. The file runs twice: its second process has the role `driver`. */
export async function measureEmbeddedPeer(run) {
  const half = () => keepUp(lanesOf(CONCURRENCY / 2), seconds, run);
  if (role === "driver") {
    await warmUp(lanesOf(CONCURRENCY / 2), seconds, run);
    answerQuestions({ go: half });
    return;
  }
  await warmUp(lanesOf(CONCURRENCY / 2), seconds, run);
  const alone = loadFigures("c1_", await measureLoad([null], seconds, run));
  const driver = await startSecond("driver");
  const loads = await Promise.all([half(), driver.ask("go")]);
  const latencies = loads.flatMap((load) => load.latencies).sort((a, b) => a - b);
  const elapsedMs = Math.max(...loads.map((load) => load.elapsedMs));
  tell({ ...alone, ...loadFigures(`c${CONCURRENCY}_`, { latencies, elapsedMs }) });
  driver.end();
}
