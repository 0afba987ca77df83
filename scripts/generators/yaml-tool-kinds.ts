// The forms of a tool: the kind Tool, with code or from an OpenAPI document, and the CommonGround upload.

import {
  AFTER_EXECUTIONS,
  ATTEMPTS_MAX_DEFAULT,
  ERROR_MESSAGE_CHARS_MAX,
  type JsonObject,
  TOOL_EFFECT_DEFAULT,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
  TOOL_TIMEOUT_MS,
} from "@tessera/protocol";
import {
  ATTEMPTS_MAX_MAX,
  BACKOFF_MS_DEFAULT,
  BACKOFF_MS_MAX,
  ERROR_MESSAGE_LIMIT_MAX,
  TIMEOUT_MS_MAX,
} from "../../packages/tool/src/policy.ts";
import { TOOL_POLICY_FIELDS } from "./yaml-bundle-kinds.ts";
import type { YamlMapping, YamlSection } from "./yaml-mapping.ts";
import {
  also,
  anotherWord,
  choice,
  JSON_SCHEMA,
  listOf,
  MAPPING,
  mappingWith,
  NEVER,
  NUMBER,
  objectSchema,
  pathTo,
  TEXT,
  TOKEN,
  TRUTH,
  text,
  VARIABLE,
  wholeNumber,
  type YamlField,
  type YamlType,
} from "./yaml-types.ts";

const VARIABLES = { type: "object", additionalProperties: VARIABLE.schema };
const ATTEMPTS = wholeNumber(1, ATTEMPTS_MAX_MAX);
const BACKOFF = wholeNumber(0, BACKOFF_MS_MAX);

const RETRY_FIELDS: readonly YamlField[] = [
  ["max_attempts", ATTEMPTS, String(ATTEMPTS_MAX_DEFAULT), "The first run included."],
  ["maxAttempts", anotherWord(ATTEMPTS), "", "Another word for `max_attempts`."],
  ["backoff", BACKOFF, String(BACKOFF_MS_DEFAULT), "The first pause in milliseconds."],
  ["backoffMs", anotherWord(BACKOFF), "", "Another word for `backoff`."],
];
const [, TARGET_TAGS, TARGET_PROFILES] = TOOL_POLICY_FIELDS as [YamlField, YamlField, YamlField];
const DELEGATION_FIELDS: readonly YamlField[] = [
  ...TOOL_POLICY_FIELDS,
  ["target_tags", anotherWord(TARGET_TAGS[1]), "", "Another word for `targetTags`."],
  ["target_profiles", anotherWord(TARGET_PROFILES[1]), "", "Another word for `targetProfiles`."],
];

/** Of a definition, in every form. */
const ARGS: YamlField = [
  "args",
  mappingWith("{defaults, fixed}", [
    ["defaults", MAPPING, "", "Shown to the model, and used when it leaves them out."],
    ["fixed", MAPPING, "", "Always used, and never shown."],
  ]),
  "",
  "Values of arguments: `defaults` are shown to the model and used when it leaves one out; `fixed` are always used and never shown.",
];
const ENVS: YamlField = [
  "envs",
  also(text("mapping of argument to variable"), VARIABLES),
  "",
  "Arguments that are read from environment variables of the executor. The value never leaves it.",
];
const TIMEOUT: YamlField = [
  "timeoutMs",
  wholeNumber(1, TIMEOUT_MS_MAX),
  String(TOOL_TIMEOUT_MS),
  "How long a call may take, in milliseconds.",
];
const QUEUE_TIMEOUT: YamlField = [
  "queueTimeoutMs",
  wholeNumber(1, TIMEOUT_MS_MAX),
  "none",
  "How long a call may wait for an executor each time, in milliseconds; for `service` and `edge`. Without it one deadline, the timeout and two leases, bounds waiting and running together.",
];
const EFFECT: YamlField = [
  "effect",
  choice(TOOL_EFFECTS),
  TOOL_EFFECT_DEFAULT,
  "What a run that was cut off means: `read` and `idempotent` run again, `once` does not.",
];
const RECONCILE: YamlField = ["reconcile", TRUTH, "false", "The tool can say what became of a run that was cut off."];
const RETRY: YamlField = [
  "retry",
  mappingWith("{max_attempts, backoff}", RETRY_FIELDS),
  "see below",
  "How often a failure that says `retryable`, or a crash, is tried again.",
];
const LIMIT: YamlField = [
  "errorMessageLimit",
  wholeNumber(1, ERROR_MESSAGE_LIMIT_MAX),
  String(ERROR_MESSAGE_CHARS_MAX),
  "How many characters of an error message are kept.",
];

const TOOL_OPTIONS: YamlMapping = {
  at: "options",
  isOpen: true,
  fields: [
    ARGS,
    ENVS,
    EFFECT,
    RETRY,
    TIMEOUT,
    QUEUE_TIMEOUT,
    [
      "timeout_seconds",
      NUMBER,
      "",
      "The same in seconds, where `timeoutMs` is absent; of this and `suspend_timeout_seconds` the larger one counts.",
    ],
    ["suspend_timeout_seconds", NUMBER, "", "The same."],
    LIMIT,
    [
      "placement",
      choice(TOOL_PLACEMENTS),
      "service",
      "Where it runs. An upload brings no code: only `service` and `edge`.",
    ],
    RECONCILE,
    [
      "delegation_policy",
      mappingWith("{operations, target_tags, target_profiles}", DELEGATION_FIELDS),
      "none",
      "The same as `delegationPolicy` of an export.",
    ],
  ],
};

const OPTIONS: YamlType = { shown: "mapping", schema: objectSchema(TOOL_OPTIONS.fields, { isOpen: true }) };

export const TOOL: YamlSection = {
  title: "Tool",
  kind: "Tool",
  text: "Tools and where their code is. Each export becomes the tool `<resource>__<export>`. What stands at an export wins over `spec`, field by field. `options` takes the same as in the CommonGround form below; executors may have others of their own there, but none whose name is nearly one of Tessera's.",
  mappings: [
    {
      at: "spec",
      keys: "goondan-tool.ts SPEC_KEYS",
      fields: [
        ["entry", pathTo("a module"), "", "The code; needed where it runs here (`inline`, `isolated`)."],
        ["exports", listOf(MAPPING, "list of 1 to 100", { minItems: 1, maxItems: 100 }), "required", "The tools."],
        ["placement", choice(TOOL_PLACEMENTS), "isolated with `entry`, else service", "Where it runs."],
        ["target", TOKEN, "the resource's name", "Whose calls these are, for `service` and `edge`."],
        LIMIT,
        ["options", OPTIONS, "", "For all exports."],
        ARGS,
        ENVS,
      ],
    },
    {
      at: "spec.exports[]",
      keys: "goondan-tool.ts EXPORT_KEYS",
      fields: [
        [
          "name",
          also(text("letters, digits, `_` and `-`, without `__`"), TOKEN.schema as JsonObject),
          "required",
          "The handler's name in the module.",
        ],
        ["description", TEXT, "", "What the model reads about it."],
        ["parameters", JSON_SCHEMA, "any object", "What the model may send."],
        EFFECT,
        RETRY,
        TIMEOUT,
        QUEUE_TIMEOUT,
        [
          "delegationPolicy",
          mappingWith("{operations, targetTags, targetProfiles}", DELEGATION_FIELDS),
          "none",
          "What its code may reach through `ctx.runtime`; an executor with a key reaches nothing without one.",
        ],
        [
          "afterExecution",
          choice(AFTER_EXECUTIONS),
          "suspend",
          "Whether the turn goes on after it, or ends with its result.",
        ],
        RECONCILE,
        ARGS,
        ENVS,
        ["options", OPTIONS, "", "For this export."],
      ],
    },
    {
      at: "retry",
      keys: "tool-options.ts RETRY_KEYS",
      fields: RETRY_FIELDS,
    },
  ],
  example: `apiVersion: tessera/v1
kind: Tool
metadata: { name: weather }
spec:
  entry: ./tools/weather.ts
  exports:
    - name: forecast
      description: The weather in a city
      effect: read
      timeoutMs: 10000
      retry: { max_attempts: 5, backoff: 500 }
      parameters: { type: object, properties: { city: { type: string } }, required: [city] }
`,
};

const OPERATION: YamlType = {
  shown: "operation",
  schema: {
    anyOf: [
      { type: "string", minLength: 1 },
      objectSchema([["tag", TEXT, "required", "Every operation with this tag."]]),
      objectSchema([
        ["method", TEXT, "required", "As `GET`."],
        ["path", text("path", { pattern: "^/" }), "required", "As it is written in the document."],
      ]),
    ],
  },
};

export const API_TOOL: YamlSection = {
  title: "Tool from an OpenAPI document",
  kind: "Tool",
  text: "Instead of code, the description of an HTTP API: each operation becomes a tool. Only in a bundle.",
  mappings: [
    {
      at: "spec",
      keys: "goondan-api.ts SPEC_KEYS",
      fields: [
        ["openapi", MAPPING, "required", "The API."],
        ["placement", choice(["service", "edge"]), "service", "Where its tools run."],
        ["target", TOKEN, "the resource's name", "Whose calls these are."],
        TIMEOUT,
        QUEUE_TIMEOUT,
        ["entry", NEVER, "", "Cannot stand beside `openapi`."],
        ["exports", NEVER, "", "Cannot stand beside `openapi`."],
      ],
    },
    {
      at: "spec.openapi",
      keys: "goondan-api.ts KEYS",
      fields: [
        ["document", pathTo("a YAML or JSON file"), "required", "The OpenAPI document."],
        [
          "hosts",
          listOf(text("host names"), "list of host names", { minItems: 1 }),
          "required",
          "The only hosts that its tools may reach.",
        ],
        [
          "operations",
          listOf(OPERATION, "list of ids, {tag} or {method, path}", { minItems: 1 }),
          "all",
          "Which operations become tools.",
        ],
        [
          "auth",
          also(text("mapping of scheme or header to variable"), VARIABLES),
          "",
          "The environment variable that holds the credential. It goes out with the operations of this document and, where another definition describes one of them, with that; the setting `credentials` allows more.",
        ],
        [
          "baseUrl",
          text("https address", { pattern: "^[Hh][Tt][Tt][Pp][Ss]:" }),
          "that of the document",
          "Where the API is; on one of the hosts.",
        ],
      ],
    },
  ],
  example: `apiVersion: tessera/v1
kind: Tool
metadata: { name: pets }
spec:
  openapi:
    document: ./openapi.yaml
    hosts: [api.example.org]
    operations: [listPets]
    auth: { token: PETS_TOKEN }
`,
};

export const UPLOADED_TOOL: YamlSection = {
  title: "CommonGround tool",
  text: "An upload to `POST /projects/{project}/tools`: one flat mapping. An upload may also be a resource of the kind Tool.",
  mappings: [
    {
      at: "the document",
      keys: "commonground-tool.ts KNOWN_KEYS",
      fields: [
        ["tool_name", text("letters, digits, `_` and `-`, at most one `__`"), "required", "What the model calls."],
        ["name", anotherWord(TEXT), "", "Another word for `tool_name`, where that is absent."],
        ["description", TEXT, "", "What the model reads about it."],
        [
          "target_subject",
          text("`cg.v1r4.{project_id}.{channel_id}.cmd.tool.<target>.<action>`"),
          "required",
          "Who runs it.",
        ],
        [
          "after_execution",
          choice(AFTER_EXECUTIONS),
          "required",
          "Whether the turn goes on after it, or ends with its result.",
        ],
        ["parameters", JSON_SCHEMA, "any object", "What the model may send."],
        ["options", MAPPING, "", "See below; keys that are not known are kept and not obeyed."],
      ],
    },
    TOOL_OPTIONS,
  ],
  example: `tool_name: words__count
description: Counts the words of a text
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.words.count
after_execution: suspend
parameters: { type: object, properties: { text: { type: string } }, required: [text] }
options: { effect: read, timeoutMs: 5000 }
`,
};
