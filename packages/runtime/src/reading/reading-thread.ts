// A thread that reads what strangers upload (reading-threads.ts). One document at a time; what a document cost is the
// processor time of this thread, which does not grow when others keep the machine busy.

import { parentPort } from "node:worker_threads";
import { TesseraError } from "@tessera/protocol";
import { parseToolUpload } from "@tessera/tool/resources";
import type { Failure, ReadingAnswer, ReadingJob } from "./reading-threads.ts";

async function read({ kind, bytes, options }: ReadingJob): Promise<unknown> {
  if (kind === "tools") return parseToolUpload(bytes, options);
  const { readProfileYaml } = await import("@tessera/agent/resources");
  return readProfileYaml(bytes, options);
}

function failureOf(error: unknown): Failure {
  if (!TesseraError.is(error)) return { code: null, message: String(error), details: {} };
  return { code: error.code, message: error.message, details: error.details };
}

parentPort?.on("message", (job: ReadingJob) => {
  const before = process.threadCpuUsage();
  const answer = (found: Pick<ReadingAnswer, "value"> | Pick<ReadingAnswer, "failure">) => {
    const { user, system } = process.threadCpuUsage(before);
    parentPort?.postMessage({ ...found, costMs: (user + system) / 1_000 });
  };
  parentPort?.postMessage("began");
  read(job).then(
    (value) => answer({ value }),
    (error: unknown) => answer({ failure: failureOf(error) }),
  );
});
