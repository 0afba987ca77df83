// A process with tools that a test can kill: a tool host, and, if asked, the caller and calls of its own.
//
// Prints one JSON line per event on stdout: `ready`, then `requested` with the turn of each call, then
// `answered` for each turn it was told to wait for.

import { awaitToolCall, openNode, openToolHost, startToolCaller } from "@tessera/runtime";

export interface ExecutorOrder {
  readonly data?: string;
  readonly postgres?: string;
  readonly nats?: string;
  readonly project: string;
  readonly bundle: string;
  readonly leaseMs: number;
  /** Calls to make; with any, this process is the caller, too. Absent: a host only. */
  readonly calls?: readonly { readonly tool: string; readonly arguments: object }[];
  /** Turns whose answers it prints as `answered`. */
  readonly awaiting?: readonly string[];
}

const order = JSON.parse(process.argv[2] ?? "{}") as ExecutorOrder;
const say = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`);
const onWarning = (warning: string) => process.stderr.write(`${warning}\n`);

const { data, postgres, nats, project, bundle, leaseMs } = order;
const node = await openNode({
  ...(data === undefined ? {} : { data }),
  ...(postgres === undefined ? {} : { postgres }),
  ...(nats === undefined ? {} : { nats }),
  sweepIntervalMs: 200,
  onWarning,
  onFatal: (error) => onWarning(error.message),
});
const host = await openToolHost({
  node,
  project,
  bundle,
  leaseMs,
  env: process.env,
  executor: `child-${process.pid}`,
  openApiTargets: [],
  onWarning,
});
const caller =
  order.calls === undefined
    ? null
    : await startToolCaller({
        ...node,
        runner: host.runner,
        isHosted: host.isHosted,
        leaseMs,
        onWarning,
      });
say({ event: "ready", freed: node.freed });
for (const call of order.calls ?? []) {
  const request = { project_id: project, tool_name: call.tool, arguments: call.arguments };
  say({ event: "requested", tool: call.tool, ...(await caller?.request(request)) });
}
for (const turn of order.awaiting ?? []) {
  say({ event: "answered", turn, answer: await awaitToolCall(node, project, turn, { waitMs: 30_000 }) });
}
process.once("SIGTERM", async () => {
  await caller?.stop();
  await host.close({ graceMs: 100 });
  await node.close();
});
