// What the executor edge takes and answers.
//
//   E1. A report may say any status, error and after_execution, and fields that there are not: the kernel makes a failed result
//       of what contradicts itself (E3 in executor-routes.ts), so that a wrong one has the same answer on every way in. The
//       description names the right ones all the same.

import { BATCH_ITEMS_MAX, CONTROL_FIELDS, LONG_POLL_MS_MAX, RESULT_STATUSES, STACK_CHARS_MAX } from "@tessera/protocol";
import Type from "typebox";
import { Anything, closed, Id, named, oneOf, Text, Time } from "../routing/api-schemas.ts";

const Executor = Type.Optional(
  Type.String({ minLength: 1, maxLength: 256, description: "A name, for operators who read the logs." }),
);
const ClaimId = Type.Optional({
  ...Id,
  description: "Makes the claim repeatable: the same id is answered the same calls.",
});

export const ClaimBody = Type.Object(
  {
    max: Type.Optional(Type.Integer({ minimum: 1, maximum: BATCH_ITEMS_MAX, description: "Default 1." })),
    wait_ms: Type.Optional(
      Type.Integer({ minimum: 0, maximum: LONG_POLL_MS_MAX, description: "How long to wait for a call. Default 0." }),
    ),
    executor: Executor,
    claim_id: ClaimId,
  },
  closed,
);
export const OpenBody = Type.Object(
  { tool_call_card_id: Type.Optional(Type.String()), executor: Executor, claim_id: ClaimId },
  closed,
);
export const HeartbeatBody = Type.Object({}, closed);
export const ResultCardBody = Type.Object(
  {
    content: Type.Unknown({ description: "{status, after_execution?, result?, error?}" }), // E1
    card_id: Type.Optional(Type.String()),
    author_id: Type.Optional(Type.String()),
    function_name: Type.Optional(Type.String()),
  },
  closed,
);
export const ReportBody = Type.Object(
  {
    status: Type.Optional(Type.Unknown({ description: `One of ${RESULT_STATUSES.join(", ")}.` })), // E1
    result: Type.Optional(Type.Unknown({ description: "The result itself, where no card was saved before." })),
    error: Type.Optional(Type.Unknown({ description: "{code, message, retryable?, detail?} unless it is a success." })),
    after_execution: Type.Optional(Type.Unknown({ description: "suspend or terminate. Default: the definition's." })),
    tool_result_card_id: Type.Optional(Type.String({ description: "The card that result-card answered." })),
    stack: Type.Optional(
      Type.Unknown({
        description: `Where the tool failed, a text, as its language writes it: for operators, in no card. Cut after ${STACK_CHARS_MAX} characters.`,
      }),
    ),
    message_type: Type.Optional(Type.String()),
    author_id: Type.Optional(Type.String()),
    function_name: Type.Optional(Type.String()),
    ...Object.fromEntries(CONTROL_FIELDS.map((field) => [field, Type.Optional(Type.Unknown())])),
  },
  { additionalProperties: true }, // E1
);

export const ClaimedCall = named(
  "ClaimedCall",
  "A call that an executor has taken, with all that it needs to run it.",
  {
    tool_call_id: Id,
    tool_call_card_id: Id,
    tool_name: Text,
    arguments: Anything,
    session_key: Type.Optional(
      Type.String({
        description: "Of a call with the argument `session_id`: the session of its project and agent under that name.",
      }),
    ),
    attempt: Type.Integer({ minimum: 1 }),
    mode: Type.String({
      description: "`reconcile`: an earlier attempt may have acted; find out what became of it first.",
    }),
    idempotency_key: Text,
    after_execution: oneOf(["suspend", "terminate"]),
    lease_expires_at: Time,
    deadline_at: Time,
    capability: Type.String({ description: "Goes back as CG-Report-Capability with everything about this call." }),
    headers: Type.Record(Type.String(), Type.String()),
    effect: oneOf(["read", "idempotent", "once"]),
    message: Anything,
    definition: Anything,
    caller: Type.Object(
      {
        agent_name: Type.Optional(Text),
        instance_key: Type.Optional(Text),
        workdir: Type.Optional(Type.Object({ agent_id: Id, path: Text })),
      },
      {
        description:
          "The instance that calls. `workdir`: its tools work in this directory of that agent's workspace, and not in one of its own.",
      },
    ),
  },
);
export const ClaimAnswer = Type.Object({ calls: Type.Array(ClaimedCall) });
export const HeartbeatAnswer = Type.Object({
  lease_expires_at: Time,
  cancel: Type.Boolean({ description: "True: the result is no longer wanted; stop the tool." }),
});
const Warning = Type.Optional(
  Type.Object(
    { code: Text, message: Text },
    { description: "What was sent contradicts itself, and counts as a failed result: why." },
  ),
);
export const ResultCardAnswer = Type.Object({ tool_result_card_id: Id, warning: Warning });
export const ReportAnswer = Type.Object({
  outcome: oneOf(["accepted", "duplicate"]),
  tool_result_card_id: Type.Optional(Id),
  retry_at: Type.Optional(Time),
  warning: Warning,
});

/** For an executor: proof that it holds the call. */
export const CapabilityHeader = { "CG-Report-Capability": "The capability that came with the call." };
export const RuntimeAnswer = Type.Object({ answer: Anything });
