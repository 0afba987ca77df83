// What a tool behind the edge may ask of other agents: ctx.runtime over HTTP.
//
//   C1. Who may ask is who holds the call: the capability is checked as a heartbeat is, and renews the lease.
//   C2. What ctx.runtime throws is a tool's error with a code of its own: 400, so that no client takes it for our failure
//       and repeats it. Everything else that goes wrong there is told as everywhere.
//   C3. What an executor's key brings is a stranger's code: it reaches the agents that a policy names (decision 36). A key of an
//       administrator may do everything anyway. What a policy denies is 403 and a row of the audit log.

import type { Kernel, Row } from "@tessera/kernel";
import { BadRequest, errorOf, HEADERS, NotFound } from "@tessera/protocol";
import { bodyReader, ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import { RUNTIME_OPERATIONS, type RuntimeCallerOrder, type RuntimeRequest, type ServerPorts } from "../ports.ts";
import { refused } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, EXECUTORS, type RouteSpec } from "../routing/route-spec.ts";
import { RuntimeBody } from "../turns/turn-schemas.ts";
import { CapabilityHeader, RuntimeAnswer } from "./executor-schemas.ts";

export interface RuntimeDeps {
  readonly kernel: Pick<Kernel, "renewCall"> & { readonly reads: Pick<Kernel["reads"], "call"> };
  readonly ports: Pick<ServerPorts, "agents">;
}

const readRuntime = bodyReader(RuntimeBody);
const TARGETED: ReadonlySet<string> = new Set(["request", "send", "spawn"]);

export function runtimeRoutes({ kernel, ports: { agents } }: RuntimeDeps): RouteSpec[] {
  async function runtime(request: ApiRequest): Promise<ApiAnswer> {
    const operation = RUNTIME_OPERATIONS.find((each) => each === request.param("operation"));
    if (operation === undefined) throw new NotFound(`there is no operation ${request.param("operation")}`);
    const given = await readRuntime(request.body);
    if (given.target === undefined && TARGETED.has(operation)) {
      throw new BadRequest(`${operation} needs target, the name of an agent`, { details: { field: "target" } });
    }
    if (agents === undefined) throw errorOf("not_implemented", "this process serves no agents");
    const hold = { project_id: request.param("project"), tool_call_id: request.param("call") };
    const capability = request.header(HEADERS.report_capability) ?? "";
    const outcome = await kernel.renewCall({ ...hold, capability, principal: request.key.key_id }); // C1
    if (outcome.outcome === "rejected") throw refused(outcome);
    const call = await kernel.reads.call(hold.project_id, hold.tool_call_id);
    if (call === null)
      throw new NotFound(`there is no call ${hold.tool_call_id} in this project`, { code: "unknown_call" });
    const { role, delegation_policy = null } = request.key;
    const order = { ...callerOf(call), is_foreign: role === "executor", key_policy: delegation_policy };
    const answer = await agents
      .runtime(order, operation, given as RuntimeRequest, request.stopped())
      .catch(asToolError);
    return { status: 200, body: { answer } };
  }

  return [
    {
      id: "callRuntime",
      tag: "executors",
      summary: "Ask other agents for something in the name of a call that is held.",
      method: "POST",
      path: "/projects/:project/calls/:call/runtime/:operation",
      roles: EXECUTORS,
      headers: CapabilityHeader,
      body: "json",
      bodySchema: RuntimeBody,
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      answers: { 200: RuntimeAnswer },
      handle: runtime,
    },
  ];
}

/** C2 */
function asToolError(error: unknown): never {
  if (!(error instanceof Error) || error.name !== "ToolError") throw error;
  const { code, suggestion } = error as { readonly code?: unknown; readonly suggestion?: unknown };
  if (code === "delegation_denied") throw errorOf(code, error.message, { details: { code } }); // C3
  const more = typeof suggestion === "string" ? { suggestion } : {};
  throw new BadRequest(error.message, { details: { code: typeof code === "string" ? code : "E_TOOL", ...more } });
}

function callerOf(call: Row): Omit<RuntimeCallerOrder, "is_foreign" | "key_policy"> {
  const { project_id, channel_id, agent_id, agent_turn_id, step_id, tool_call_id, trace_id } = call;
  return { project_id, channel_id, agent_id, agent_turn_id, step_id, tool_call_id, trace_id } as never;
}
