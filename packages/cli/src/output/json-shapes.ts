// What each command prints with --json, as JSON Schema. docs/reference/cli.md is made from it, and every command that a test
// runs is held to it (tests/cli/hold-json.ts).
//
//   J1. What the API answers is not described again: it is named, as a component of the OpenAPI document. Shapes that several
//       commands share have names of their own, beside those.
//   J2. stdout is one line, the answer, which says `ok`; commands that watch print events before it, which say `event`.
//   J3. A command that could not do its work prints a Failure instead of its answer.

export type JsonSchema = Readonly<Record<string, unknown>>;

interface JsonShape {
  /** Lines before the answer, or instead of one for a command that ends when it is stopped. */
  readonly events?: JsonSchema;
  readonly answer?: JsonSchema;
}

type Properties = Readonly<Record<string, JsonSchema>>;

const TEXT = { type: "string" };
const TRUE = { const: true };
const BOOLEAN = { type: "boolean" };
const COUNT = { type: "integer", minimum: 0 };
const TEXT_OR_NULL = { type: ["string", "null"] };
const TURN_ENDINGS = ["success", "failed", "canceled", "timeout", "partial"];

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const list = (items: JsonSchema) => ({ type: "array", items });
const either = (...anyOf: JsonSchema[]) => ({ anyOf });
const both = (...allOf: JsonSchema[]) => ({ allOf });
const word = (...words: readonly string[]) => ({ type: "string", enum: [...words] });
const described = <Schema extends JsonSchema>(description: string, schema: Schema) => ({ ...schema, description });
const object = (properties: Properties, optional: Properties = {}) => ({
  type: "object",
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});

const ABOUT_TURN = { agent: TEXT, agent_turn_id: TEXT };
const ABOUT_TURN_MORE = {
  agent_number: described("Which one, where several turns of this agent are watched.", COUNT),
  is_earlier: described("It happened before the command began to watch.", TRUE),
};
const TOOL_NUMBER = described("Which one, where the turn calls this tool several times.", COUNT);

/** J1 */
export const JSON_TYPES: Readonly<Record<string, JsonSchema>> = {
  Failure: object({
    ok: { const: false },
    error: object(
      {
        code: described("One of the error codes, or `usage`: the command was not understood.", TEXT),
        message: TEXT,
        todo: described("What to do about it.", TEXT),
      },
      { mistakes: described("Where several things are wrong in files: each with its file:line:col.", list(TEXT)) },
    ),
  }),
  TurnEvent: either(
    object(
      { event: { const: "turn" }, ...ABOUT_TURN, status: word("started", ...TURN_ENDINGS) },
      { error_code: TEXT, ...ABOUT_TURN_MORE },
    ),
    object(
      { event: { const: "step" }, ...ABOUT_TURN, step: COUNT, text: described("What the model said in it.", TEXT) },
      ABOUT_TURN_MORE,
    ),
    object(
      {
        event: { const: "call" },
        ...ABOUT_TURN,
        tool: TEXT,
        tool_call_id: TEXT,
        status: described("`called`, or how it ended: that of its result; `dropped` without one.", {
          type: "string",
          enum: ["called", ...TURN_ENDINGS, "received", "applied", "dropped"],
        }),
      },
      { elapsed_ms: COUNT, error_code: TEXT, tool_number: TOOL_NUMBER, ...ABOUT_TURN_MORE },
    ),
    object(
      {
        event: { const: "wait" },
        ...ABOUT_TURN,
        code: described("As the `code` of a Wait of the API.", TEXT),
        reason: TEXT,
      },
      {
        tool: TEXT,
        tool_call_id: TEXT,
        tool_number: TOOL_NUMBER,
        deadline_at: TEXT,
        children_ended: COUNT,
        children_total: COUNT,
        ...ABOUT_TURN_MORE,
      },
    ),
  ),
  TurnEnd: object(
    {
      agent_turn_id: TEXT,
      agent: TEXT,
      status: word(...TURN_ENDINGS),
      deliverable: described("Text, or what was delivered as data.", {}),
    },
    { error: object({ code: TEXT, message: TEXT }) },
  ),
  TurnOpen: object(
    {
      ok: { const: false },
      status: { const: "waiting" },
      agent_turn_id: TEXT,
      agent_turn_ids: described("All that have not ended, where several were waited for.", list(TEXT)),
      is_kept: described("false: the store was in memory, and they are gone with it.", BOOLEAN),
    },
    {
      is_asked: described("These are of an earlier run; the new task was not asked for.", { const: false }),
      why: described("Where they do not go on by themselves: why.", TEXT),
    },
  ),
};

const ENDED = both(object({ ok: described("true for `success` and `partial`.", BOOLEAN) }), ref("TurnEnd"));

const ASKED = { agent_turn_id: TEXT, input: TEXT_OR_NULL };
const SAID = { ...ASKED, status: TEXT };

const PROCESS_EVENTS = either(
  object(
    {
      ok: TRUE,
      event: { const: "started" },
      roles: list(TEXT),
      store: described("Its directory, its address without a password, or memory.", TEXT),
      project: TEXT,
      health: described("`ok`, or what is not as it should be.", TEXT),
    },
    {
      bus: described("With NATS: as which store, and what is not as it should be.", TEXT),
      agents: described("With the role worker: those of the bundle.", list(TEXT)),
      entry: described("The agent that gets a task which names none.", TEXT),
      tools: described("With the role tools: those of the project.", list(TEXT)),
      targets: described("Whose calls are executed here.", list(TEXT)),
      url: described("With the role api.", TEXT),
      key: described("A key that was made for this start; one that was given is not repeated.", TEXT),
    },
  ),
  object({ ok: TRUE, event: { const: "stopping" } }),
);

const STORED_TOOL = object({
  tool_name: TEXT,
  outcome: word("added", "changed", "unchanged"),
  digest: TEXT,
  version: COUNT,
});

const FINDING = object({
  severity: word("error", "warning", "info"),
  code: TEXT,
  file: described("As seen from the current directory.", TEXT),
  line: COUNT,
  column: COUNT,
  pointer: described("The place in the document, as a JSON pointer.", TEXT),
  message: TEXT,
  expected: TEXT_OR_NULL,
  found: TEXT_OR_NULL,
});

const CHANGES = object({ added: list(TEXT), changed: list(TEXT), removed: list(TEXT) });
const RELOADED_FILES = described("Relative to the bundle, since the last reload that was used.", list(TEXT));

const RELOAD_EVENTS = [
  object(
    {
      ok: TRUE,
      event: { const: "reloaded" },
      files: RELOADED_FILES,
      tools: CHANGES,
      agents: CHANGES,
      extensions_reloaded: BOOLEAN,
    },
    { settings_changed: described("They count from the next start.", TRUE) },
  ),
  object({
    ok: { const: false },
    event: described("The last good version goes on.", { const: "reload_refused" }),
    files: RELOADED_FILES,
    findings: list(FINDING),
  }),
];

const CHECK = object({
  area: TEXT,
  name: TEXT,
  status: word("ok", "warn", "fail"),
  found: TEXT,
  fix: TEXT_OR_NULL,
  fault: described("Of one that failed.", { enum: ["configuration", "unreachable", null] }),
});

/** By the words of the command. Every command that takes --json is here. */
export const JSON_SHAPES: Readonly<Record<string, JsonShape>> = {
  init: {
    answer: object({
      ...{ ok: TRUE, template: TEXT, directory: TEXT, files: list(TEXT) },
      ...{ completed: list(TEXT), kept: list(TEXT) },
    }),
  },
  run: {
    events: ref("TurnEvent"),
    answer: either(
      both(ENDED, object({}, { turns: described("With --resume: all that were finished.", list(ref("TurnEnd"))) })),
      both(ref("TurnOpen"), object({}, { turns: list(ref("TurnEnd")) })),
      object({ ok: TRUE, status: { const: "nothing_left_open" }, deliverable: { type: "null" }, turns: list({}) }),
    ),
  },
  chat: {
    events: either(
      ref("TurnEvent"),
      described("A turn of before.", object({ event: { const: "history" }, ...SAID, deliverable: {} })),
      described("A turn that an earlier process left open.", object({ event: { const: "resumed" }, ...ASKED })),
      object({ event: { const: "asked" }, ...ASKED, is_queued: BOOLEAN }),
      both(object({ event: { const: "answer" } }), ref("TurnEnd")),
      object({ event: { const: "fresh" } }),
      object({ event: { const: "reset" }, conversation_from: COUNT }),
      object({ event: { const: "refused" }, code: TEXT, message: TEXT }),
      object({ event: { const: "help" }, text: TEXT }),
    ),
    answer: object({
      ok: described("false: a turn failed, or is open.", BOOLEAN),
      agent: TEXT,
      instance_key: TEXT,
      turns: described("How many were asked for.", COUNT),
      open: described("Those that have not ended.", list(TEXT)),
      is_kept: described("false: the store was in memory, and what is open is gone with it.", BOOLEAN),
    }),
  },
  dev: { events: either(PROCESS_EVENTS, ...RELOAD_EVENTS) },
  start: { events: PROCESS_EVENTS },
  validate: {
    answer: object({
      ok: described("false: there is a finding of severity `error`.", BOOLEAN),
      root: described("The bundle's directory.", TEXT),
      counts: object({ agents: COUNT, tools: COUNT, models: COUNT, swarms: COUNT, extensions: COUNT }),
      findings: list(FINDING),
    }),
  },
  "turns ls": {
    answer: object({
      ok: TRUE,
      project: TEXT,
      turns: list(both(ref("TurnSummary"), object({ agent_name: TEXT_OR_NULL }))),
      has_more: described("There are more than --limit.", BOOLEAN),
    }),
  },
  "turns show": {
    answer: object(
      { ok: TRUE, turn: ref("Turn") },
      {
        failures: described(
          "With --stack: those of its attempts, in the order of their reports.",
          list(ref("TurnFailure")),
        ),
      },
    ),
  },
  "turns tail": { events: ref("TurnEvent"), answer: either(ENDED, ref("TurnOpen")) },
  "turns why": {
    answer: object({
      ok: TRUE,
      agent_turn_id: TEXT,
      status: TEXT,
      why: described("One sentence.", TEXT),
      next: described("What the command does.", TEXT),
      command: described("What would unblock it, to paste.", TEXT),
      path: described("From this turn to the one where the wait is.", list(TEXT)),
      wait: described("null: the last turn of the path has ended.", either(ref("Wait"), { type: "null" })),
    }),
  },
  "turns stop": { answer: both(object({ ok: TRUE }), ref("StoppedTurn")) },
  "agents ls": {
    answer: object({
      ok: TRUE,
      project: TEXT,
      agents: list(
        both(ref("Agent"), object({ doing: described("The `status` of its Head; null: none yet.", TEXT_OR_NULL) })),
      ),
      profiles: list(ref("ProfileSummary")),
    }),
  },
  "agents reset": {
    answer: both(object({ ok: TRUE, agent: TEXT, instance_key: TEXT }), ref("ConversationReset")),
  },
  "cards show": { answer: object({ ok: TRUE, card: ref("Card") }) },
  "tools call": {
    answer: either(
      object(
        {
          ok: described("true for `success` and `partial`.", BOOLEAN),
          tool: TEXT,
          agent_turn_id: TEXT,
          status: word(...TURN_ENDINGS),
          error: either(object({ code: TEXT, message: TEXT }, { source: TEXT, detail: {} }), { type: "null" }),
        },
        { result: described("What the tool answered; of a failure, too, if it answered at all.", {}) },
      ),
      object({
        ok: { const: false },
        tool: described("The turn's id where its tool is not known.", TEXT),
        agent_turn_id: TEXT,
        status: { const: "waiting" },
        why: described("What it waits for, in one sentence.", TEXT),
        is_kept: described("false: the store was in memory, and the call is gone with it.", BOOLEAN),
      }),
    ),
  },
  "tools ls": { answer: object({ ok: TRUE, project: TEXT, tools: list(ref("Tool")) }) },
  "tools show": { answer: object({ ok: TRUE, tool: ref("Tool") }) },
  "tools register": {
    answer: object({
      ok: TRUE,
      project: TEXT,
      tools: list(STORED_TOOL),
      ignored: described(
        "Fields that have no meaning here.",
        list(object({ file: TEXT, line: COUNT, column: COUNT, pointer: TEXT })),
      ),
    }),
  },
  "tools rm": { answer: object({ ok: TRUE, removed: described("The tool's name.", TEXT) }) },
  "keys create": {
    answer: object({
      ok: TRUE,
      key_id: TEXT,
      key: described("The text of the key, which is kept nowhere.", TEXT),
      role: TEXT,
      project_id: described("null: of all projects.", TEXT_OR_NULL),
    }),
  },
  "keys ls": { answer: object({ ok: TRUE, keys: list(ref("ApiKey")) }) },
  "keys rm": { answer: object({ ok: TRUE, revoked: described("The key's id.", TEXT) }) },
  migrate: {
    answer: either(
      object({
        ok: TRUE,
        store: TEXT,
        is_held: { const: false },
        schema: described("The number of its newest migration.", COUNT),
        applied: described("Migrations, by name.", list(TEXT)),
        functions_replaced: BOOLEAN,
        newer_functions_kept: BOOLEAN,
      }),
      object({
        ok: TRUE,
        store: TEXT,
        is_held: described("A running process holds the directory: there was nothing to do.", TRUE),
        says: TEXT,
      }),
    ),
  },
  verify: {
    answer: both(
      object({
        ok: described("false: an invariant does not hold.", BOOLEAN),
        store: TEXT,
        mode: word("live", "drained"),
      }),
      ref("VerifyReport"),
    ),
  },
  doctor: {
    answer: object({
      ok: described("false: a check failed.", BOOLEAN),
      checks: list(CHECK),
      settings: list(
        object({
          name: TEXT,
          value: described("`set` for a secret.", TEXT),
          source: described("The flag, the variable or the place in a file that says it, or `default`.", TEXT),
        }),
      ),
    }),
  },
};
