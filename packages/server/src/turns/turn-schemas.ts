// What the routes of turns take and answer.

import Type from "typebox";
import { Anything, closed, Facts, Id, named, oneOf, orNull, Text, Time } from "../routing/api-schemas.ts";
import { pageOf } from "../routing/query-schemas.ts";
import { WAIT_CODES } from "./wait-reasons.ts";

const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 128 }));
const INPUT_CHARS_MAX = 262_144;
export const INPUT_SHOWN_CHARS_MAX = 1_000;

export const DOING = ["dispatched", "running", "suspended"];
const ENDINGS = ["success", "failed", "canceled", "timeout", "partial"];
export const TURN_STATUSES = ["queued", ...DOING, ...ENDINGS];

export const TurnBody = Type.Object(
  {
    agent: Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: "The agent's name, or agent_id." })),
    agent_id: Type.Optional(Id),
    instance_key: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: "Which instance of the named agent." }),
    ),
    channel_id: Type.Optional({ ...Id, description: "Default: public." }),
    input: Type.String({ maxLength: INPUT_CHARS_MAX }),
    is_fresh: Type.Optional(
      Type.Boolean({
        description: "true: it remembers no earlier turn, and no later one remembers what was before it.",
      }),
    ),
  },
  closed,
);
export const StopBody = Type.Object({ reason: Type.Optional(Type.String({ maxLength: 1_000 })) }, closed);

export const RuntimeBody = Type.Object(
  {
    ordinal: Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: "Names the operation within its call: the same number is the same operation, done once.",
    }),
    target: Name,
    event: Type.Optional(
      Type.Object(
        {
          ...{ id: Name, type: Name, createdAt: Name, traceId: Name, instanceKey: Name },
          input: Type.Optional(Type.String({ maxLength: INPUT_CHARS_MAX })),
          ...{ source: Type.Optional(Facts), metadata: Type.Optional(Facts) },
          ...{ auth: Type.Optional(Facts), replyTo: Type.Optional(Facts) },
        },
        closed,
      ),
    ),
    options: Type.Optional(
      Type.Object(
        {
          timeoutMs: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400_000 })),
          async: Type.Optional(Type.Boolean()),
          includeAll: Type.Optional(Type.Boolean()),
          instanceKey: Name,
          cwd: Type.Optional(Type.String({ minLength: 1, maxLength: 4_096 })),
        },
        closed,
      ),
    ),
  },
  closed,
);

const Status = oneOf(TURN_STATUSES);
const TurnFields = {
  agent_turn_id: Id,
  agent_id: Id,
  channel_id: Id,
  status: Status,
  trace_id: Text,
  recursion_depth: Type.Integer({ minimum: 0 }),
  parent_agent_turn_id: orNull(Id),
  deliverable_card_id: orNull(Id),
  error_code: orNull(Text),
  error_message: orNull(Text),
  input: orNull(
    Type.String({
      description: `What it was asked: the text of its instruction. In lists its first ${INPUT_SHOWN_CHARS_MAX} characters.`,
    }),
  ),
  turn_number: orNull(
    Type.Integer({ minimum: 1, description: "Its place among the turns of its agent; null: it is not dispatched." }),
  ),
  conversation_from: orNull(
    Type.Integer({ minimum: 1, description: "The number of the first turn that it may remember." }),
  ),
  created_at: Time,
  ended_at: orNull(Time),
};

const TurnSummary = named("TurnSummary", "A turn, as lists have it.", TurnFields);
const Wait = named("Wait", "What a turn or a call waits for.", {
  code: oneOf(WAIT_CODES),
  says: Text,
  tool_call_id: Type.Optional(Id),
  tool_name: Type.Optional(Text),
  target: Type.Optional(Text),
  executor: Type.Optional(Text),
  agent_turn_ids: Type.Optional(Type.Array(Id)),
  deadline_at: Type.Optional(Time),
  bounded_by: Type.Optional(
    Type.String({ description: "Of a call that waits for an executor: what its deadline follows from." }),
  ),
  since: Type.Optional(Time),
});
const Call = named("Call", "A call of a tool.", {
  tool_call_id: Id,
  step_id: Id,
  tool_name: Text,
  target_subject: Text,
  effect: oneOf(["read", "idempotent", "once"]),
  wait_status: oneOf(["waiting", "received", "applied", "dropped"]),
  attempt: Type.Integer({ minimum: 0 }),
  claimed_by: orNull(Text),
  lease_until: orNull(Time),
  deadline_at: Time,
  settled_by: orNull(Text),
  result_card_id: orNull(Id),
  result_status: orNull(oneOf(ENDINGS)),
  created_at: Time,
  received_at: orNull(Time),
  applied_at: orNull(Time),
  why: Type.Optional(Type.String({ description: "Of a call that waits: for what." })),
});
const TurnStep = named("TurnStep", "A step of a turn.", {
  step_id: Id,
  started_at: Time,
  status: oneOf(["waiting", "done", "ended"]),
});
const TurnChild = named("TurnChild", "A turn that another turn asked for.", {
  agent_turn_id: Id,
  agent_id: Id,
  agent_name: orNull(Text),
  status: Status,
  tool_call_id: Type.Optional({ ...Id, description: "The call that asked for it, where that is known." }),
});
const Deliverable = Type.Object(
  {
    card_id: Id,
    text: Type.Optional(Type.String({ description: "What was said, of an agent that answers in words." })),
    data: Type.Optional(
      Type.Union([Facts, Type.Array(Anything)], {
        description: "What was answered as JSON; of a tool call without an agent, its whole result.",
      }),
    ),
  },
  { $id: "Deliverable", description: "The content of the turn's deliverable card: text or data." },
);
const TimelineEntry = named("TimelineEntry", "Something that happened in a turn.", {
  at: Time,
  kind: Text,
  status: orNull(Text),
  step_id: orNull(Id),
  tool_call_id: orNull(Id),
  name: orNull(Text),
  agent_turn_id: orNull(Id),
  detail: Anything,
});
export const Turn = named("Turn", "A turn with its steps, calls, children and timeline, and what it waits for.", {
  ...TurnFields,
  agent_name: orNull(Text),
  instance_key: orNull(Text),
  why: Type.Optional(Type.String({ description: "Of a turn that has not ended: what it waits for, in one sentence." })),
  waiting_for: Type.Array(Wait),
  deliverable: orNull(Deliverable),
  steps: Type.Array(TurnStep, { description: "The newest ones, oldest first." }),
  steps_cut: Type.Boolean({ description: "true: there are older ones; listSteps has them all." }),
  calls: Type.Array(Call),
  children: Type.Array(TurnChild),
  timeline: Type.Array(TimelineEntry, { description: "The newest entries, oldest first." }),
  timeline_cut: Type.Boolean({ description: "true: older entries are left out." }),
});
export const EnqueuedTurn = named("EnqueuedTurn", "A turn that is stored.", {
  agent_turn_id: Id,
  agent_id: Id,
  status: Status,
});
export const StoppedTurn = named("StoppedTurn", "A turn that was stopped.", {
  agent_turn_id: Id,
  status: oneOf(["canceled"]),
  was: Text,
});
export const TurnPage = pageOf("turns", TurnSummary);

const Failure = named("TurnFailure", "Why an attempt at a call, or a turn, failed: for operators.", {
  tool_call_id: orNull({ ...Id, description: "null: the turn itself could not be run." } as typeof Id),
  tool_name: orNull(Text),
  attempt: orNull(Type.Integer({ minimum: 1 })),
  stack: Type.String({
    description: "What was thrown: its message, the author's own frames first, then its causes. Secrets are masked.",
  }),
  created_at: Time,
});
export const FailurePage = pageOf("failures", Failure);
