// God: an administrator acts in an agent's name, or ends its turn. Only where the operator has switched it on.
//
//   G1. Without the switch this module is not loaded, and these routes do not exist: they are answered like any unknown path.
//   G2. Both use what agents use (a committed call, a stop); nothing is written past the kernel's functions.
//   G3. A call that takes longer than it was given is answered 400 `tool_timeout`, one whose server closes meanwhile 503
//       `shutting_down`; it goes on and is found by its turn.

import { hasTurnEnded } from "@tessera/kernel";
import { CHANNEL_DEFAULT, errorOf, NotFound, type OrderTrace, ProtocolViolation } from "@tessera/protocol";
import Type from "typebox";
import { inboundTrace, TRACE_HEADERS } from "../http/inbound-trace.ts";
import { bodyReader, ENVELOPE_DEPTH_MAX } from "../http/request-body.ts";
import { closed, Facts, Id, oneOf, orNull, Text } from "../routing/api-schemas.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { HttpRefusal, PartlyDone } from "../routing/problem.ts";
import { idQuery } from "../routing/query-schemas.ts";
import { given } from "../routing/query-values.ts";
import { existingProject, refused } from "../routing/refusals.ts";
import { ADMINS, type ApiAnswer, type ApiRequest, type RouteSpec } from "../routing/route-spec.ts";
import type { TurnWaits } from "../turns/turn-waits.ts";

const INTERNAL_TOOLS = ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"];
const TIMEOUT_SECONDS = { min: 1, max: 600, default: 180 };

const CallWanted = Type.Object(
  {
    caller_agent_id: Id,
    channel_id: Type.Optional(idQuery("Default: public.")),
    args: Type.Optional(Facts),
    after_execution: Type.Optional(oneOf(["suspend", "terminate"])),
    timeout_seconds: Type.Optional(
      Type.Integer({ minimum: TIMEOUT_SECONDS.min, maximum: TIMEOUT_SECONDS.max, default: TIMEOUT_SECONDS.default }),
    ),
    trace_id: Type.Optional(Type.String({ pattern: "^[0-9a-f]{32}$" })),
  },
  closed,
);
const StopWanted = Type.Object(
  {
    agent_id: Id,
    agent_turn_id: Id,
    channel_id: Type.Optional(Id),
    target: Type.Optional(
      Type.String({
        maxLength: 64,
        description: "Taken for clients of CommonGround; the turn alone says who is told.",
      }),
    ),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000, default: "admin_intervention" })),
  },
  closed,
);
const readCall = bodyReader(CallWanted);
const readStop = bodyReader(StopWanted);

export function godRoutes({ kernel, ports }: ManagementDeps, waits: TurnWaits): RouteSpec[] {
  const { reads } = kernel;

  async function call(request: ApiRequest): Promise<ApiAnswer> {
    const wanted = await readCall(request.body);
    const project_id = await existingProject(kernel, request);
    const tool_name = request.param("tool");
    if (!INTERNAL_TOOLS.includes(tool_name)) {
      throw new NotFound(`${tool_name} is not an internal tool`, {
        code: "unsupported_pmo_route",
        details: { field: "tool_name" },
      });
    }
    const { caller_agent_id, channel_id = CHANNEL_DEFAULT, args = {}, trace_id } = wanted;
    if ((await reads.agent(project_id, caller_agent_id)) === null)
      throw unknownAgent(caller_agent_id, "caller_agent_id");
    if (ports.toolCalls === undefined) throw errorOf("not_implemented", "this process takes no tool calls");
    const { toolCalls } = ports;
    const { timeout_seconds = TIMEOUT_SECONDS.default } = wanted;
    const after_execution = wanted.after_execution === "terminate" ? "terminate" : "suspend";
    const trace = traceOf(request, trace_id);
    const order = { project_id, channel_id, caller_agent_id, tool_name, arguments: args, after_execution } as const;
    const commit = async () => (await toolCalls.requestInternal({ ...order, ...trace })).agent_turn_id;
    const turn = await waits.forEnd(request, timeout_seconds, commit);
    const agent_turn_id = String(turn.agent_turn_id);
    if (!hasTurnEnded(turn)) {
      const late = request.stopped().aborted
        ? closing(agent_turn_id)
        : tooLate(tool_name, timeout_seconds, agent_turn_id);
      throw new PartlyDone(late, { turn: agent_turn_id }); // G3
    }
    return await answerOf(project_id, agent_turn_id);
  }

  async function answerOf(projectId: string, turnId: string): Promise<ApiAnswer> {
    const [made] = await reads.callsOfTurn(projectId, turnId);
    if (made === undefined) {
      throw errorOf("conflict", "the turn ended before the call was made", { details: { agent_turn_id: turnId } });
    }
    const { tool_call_id, step_id, result_card_id } = made;
    const [card] = result_card_id === null ? [] : await reads.cards(projectId, [String(result_card_id)]);
    const tool_result = card?.content ?? null;
    const ids = { agent_turn_id: turnId, tool_call_id, step_id, tool_result_card_id: result_card_id };
    return { status: 200, body: { status: "ok", ...ids, tool_result }, made: { turn: turnId } };
  }

  async function stop(request: ApiRequest): Promise<ApiAnswer> {
    const { agent_id, agent_turn_id, channel_id, reason = "admin_intervention" } = await readStop(request.body);
    const project_id = await existingProject(kernel, request);
    if ((await reads.agent(project_id, agent_id)) === null) throw unknownAgent(agent_id, "agent_id");
    const turn = await reads.turn(project_id, agent_turn_id);
    if (turn === null) {
      throw new NotFound(`there is no turn ${agent_turn_id} in this project`, { details: { field: "agent_turn_id" } });
    }
    if (turn.agent_id !== agent_id) throw notOf(agent_turn_id, "agent_id", agent_id);
    if (channel_id !== undefined && turn.channel_id !== channel_id)
      throw notOf(agent_turn_id, "channel_id", channel_id);
    const outcome = await kernel.stopTurn({ project_id, agent_turn_id, reason });
    if (outcome.outcome === "rejected") {
      throw refused(outcome, given({ status: outcome.status }));
    }
    return { status: 200, body: { status: "ok" }, made: { turn: agent_turn_id } };
  }

  const god = "/projects/:project/god";
  return [
    {
      id: "godCallPmo",
      tag: "god",
      summary: "Call an internal tool in an agent's name and wait for its result.",
      method: "POST",
      path: `${god}/pmo/:tool::call`,
      roles: ADMINS,
      handle: call,
      body: "json",
      bodySchema: CallWanted,
      headers: TRACE_HEADERS,
      jsonDepthMax: ENVELOPE_DEPTH_MAX,
      answers: {
        200: Type.Object({
          status: Text,
          agent_turn_id: Id,
          tool_call_id: Id,
          step_id: Id,
          tool_result_card_id: orNull(Id),
          tool_result: orNull(Facts),
        }),
      },
    },
    {
      id: "godStop",
      tag: "god",
      summary: "Stop a turn of an agent, whatever it is doing.",
      method: "POST",
      path: `${god}/stop`,
      roles: ADMINS,
      handle: stop,
      body: "json",
      bodySchema: StopWanted,
      answers: { 200: Type.Object({ status: Text }) },
    },
  ];
}

/** A trace in the body, the caller's context, or both if they agree: one of two that differ was forged. */
function traceOf(request: ApiRequest, trace_id: string | undefined): OrderTrace {
  const inbound = inboundTrace(request);
  if (trace_id === undefined || inbound.trace_id === trace_id) return inbound;
  if (inbound.trace_id === undefined) return { trace_id };
  throw new ProtocolViolation("trace_id and traceparent name different traces", { details: { field: "trace_id" } });
}

function unknownAgent(agentId: string, field: string): NotFound {
  return new NotFound(`there is no agent ${agentId} in this project`, { code: "agent_not_found", details: { field } });
}

function tooLate(toolName: string, seconds: number, agent_turn_id: string): HttpRefusal {
  const details = { agent_turn_id };
  return new HttpRefusal("tool_timeout", `${toolName} did not answer within ${seconds} s`, { status: 400, details });
}

function closing(agent_turn_id: string): HttpRefusal {
  return new HttpRefusal("shutting_down", "this server is stopping; the call goes on", { details: { agent_turn_id } });
}

function notOf(turnId: string, field: string, value: string) {
  return errorOf("conflict", `the turn ${turnId} does not have the ${field} ${value}`, { details: { field } });
}
