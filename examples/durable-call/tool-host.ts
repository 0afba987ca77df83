// Runs tools for the kernel: opens a call, gives it to a process of its own, keeps the lease while that lives, reports.
//
//   H1. The claim comes before the work (commit point B); a command that was already taken is simply not ours.
//   H2. A tool process that dies is not reported: what it did is unknown. Its lease runs out, and the kernel decides by the
//       effect that the tool declared.

import { fork } from "node:child_process";
import { type Delivery, listenForWork, type OpenedCall } from "@tessera/kernel";
import { parseToolCommand } from "@tessera/protocol";
import type { Node } from "@tessera/runtime";
import type { Tell } from "./story-event.ts";
import type { ToolNews, ToolWork } from "./tool-process.ts";
import { TOOLS } from "./tools.ts";

// Long enough for a busy machine: the next process to open the directory ends all leases, so the story does not wait for one.
const LEASE_MS = 5_000;
const HEARTBEAT_MS = 1_000;

export async function startToolHost(node: Node, ledger: string, tell: Tell): Promise<{ stop(): Promise<void> }> {
  const executor = node.ids.mint("executor");
  const { bus, kernel, clock } = node;
  const handler = async (delivery: Delivery) => {
    const { ctx, ticket } = parseToolCommand(delivery, { ids: node.ids });
    const opened = await kernel.openCall({
      project_id: ctx.project_id,
      tool_call_id: ctx.tool_call_id ?? "",
      ...(ticket === null ? {} : { ticket }),
      executor,
      lease_ms: LEASE_MS,
    });
    if (opened.outcome === "accepted") runTool(node, opened, ledger, tell); // H1
  };
  const onWarning = (warning: string) => tell({ event: "warning", says: warning });
  const targets = new Set(TOOLS.map((tool) => tool.name.split("__")[0] ?? ""));
  const sources = await Promise.all(
    [...targets].map((target) => {
      const subscribe = { pattern: `cg.v1r4.*.*.cmd.tool.${target}.*`, durable: `tool_${target}` };
      return listenForWork({ bus, kernel, clock, role: { tool_target: target }, subscribe, handler, onWarning });
    }),
  );
  return { stop: async () => void (await Promise.all(sources.map((source) => source.stop()))) };
}

function runTool(node: Node, call: OpenedCall, ledger: string, tell: Tell): void {
  const { kernel } = node;
  const hold = { project_id: call.project_id, tool_call_id: call.tool_call_id, capability: call.capability };
  const about = { tool: call.tool_name, attempt: call.attempt };
  const child = fork(new URL("./tool-process.ts", import.meta.url));
  const heartbeat = setInterval(() => {
    // A refused heartbeat means that the call is no longer ours: stop the tool.
    void kernel
      .renewCall({ ...hold, lease_ms: LEASE_MS })
      .then((answer) => answer.outcome === "rejected" && child.kill());
  }, HEARTBEAT_MS);
  let hasAnswered = false;

  child.on("message", async (news: ToolNews) => {
    if (news.kind === "acted") {
      const says = `${call.tool_name} is at work (attempt ${call.attempt})`;
      return tell({ event: "tool.working", says, ...about, pid: child.pid ?? 0 });
    }
    hasAnswered = true;
    clearInterval(heartbeat);
    child.disconnect();
    const report = await kernel.report({ ...hold, content: { status: "success", result: news.result } });
    tell({ event: "call.reported", says: `${call.tool_name} answered; the result is ${report.outcome}`, ...about });
  });
  child.once("exit", (_code, signal) => {
    clearInterval(heartbeat);
    if (hasAnswered) return;
    const says = `${call.tool_name} is lost (${signal}): no answer, and its lease is no longer renewed`;
    tell({ event: "tool.lost", says, ...about, signal }); // H2
  });
  child.send({ ...about, idempotencyKey: call.idempotency_key, ledger } satisfies ToolWork);
}
