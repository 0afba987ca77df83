// A tool over HTTP: the agent and the API in one process, an executor in another that asks the API for calls and reports to
// it. The durable call of durable-call.ts otherwise.

import { startEdgeExecutor } from "@tessera/executor";
import { connectExecutor, openApi, openNode } from "@tessera/runtime";
import type { ToolRunner } from "@tessera/tool";
import type { Figures } from "../statistics.ts";
import { openCallLanes, PROJECT } from "./call-lanes.ts";
import { loadFigures, measureLoad, warmUp } from "./load.ts";
import { answerQuestions, concurrencies, flags, needed, role, seconds, startSecond, tell } from "./program.ts";

const LANES_MAX = 64;
const onWarning = (warning: string) => console.error(warning);
/** The limits of one key and one address are for unknown clients; here the path is measured. */
const UNLIMITED_PER_SECOND = 1_000_000;

if (role === "executor") {
  const runner: ToolRunner = {
    run: async (call) => ({ status: "success", after_execution: "suspend", result: call.arguments, error: null }),
    close: async () => undefined,
  };
  const { edge, clock } = await connectExecutor({ url: needed("url"), apiKey: needed("key"), onWarning });
  const options = { project_id: PROJECT, target: "echo", executor: "bench-edge", concurrencyMax: LANES_MAX };
  startEdgeExecutor({ edge, clock, runner, onWarning, ...options });
  answerQuestions();
} else {
  const node = await openNode({
    postgres: needed("postgres"),
    nats: flags.nats,
    migrate: "yes",
    onWarning,
    onFatal: console.error,
  });
  const unlimited = { perSecond: UNLIMITED_PER_SECOND, burst: UNLIMITED_PER_SECOND };
  const limits = { address: unlimited, key: unlimited, reportsPerKey: unlimited };
  const api = await openApi({ node, port: 0, limits, onWarning });
  const { lanes, call } = await openCallLanes(node, LANES_MAX, "once");
  const executor = await startSecond("executor", ["--url", api.url, "--key", api.key.text]);
  await warmUp(lanes, seconds, call);
  let figures: Figures = {};
  for (const concurrency of concurrencies) {
    const load = await measureLoad(lanes.slice(0, concurrency), seconds, call);
    figures = { ...figures, ...loadFigures(`c${concurrency}_`, load) };
  }
  tell(figures);
  executor.end();
  await api.close();
  await node.close();
}
