// The forms of a tool: the kind Tool, with code or from an OpenAPI document, and the CommonGround upload.

import {
  ATTEMPTS_MAX_DEFAULT,
  ERROR_MESSAGE_CHARS_MAX,
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
import type { YamlField, YamlMapping, YamlSection } from "./yaml-mapping.ts";

const effects = TOOL_EFFECTS.map((effect) => `\`${effect}\``).join(", ");
const placements = TOOL_PLACEMENTS.map((placement) => `\`${placement}\``).join(", ");

/** Of a definition, in every form. */
const ARGS: YamlField = [
  "args",
  "{defaults, fixed}",
  "",
  "Values of arguments: `defaults` are shown to the model and used when it leaves one out; `fixed` are always used and never shown.",
];
const ENVS: YamlField = [
  "envs",
  "mapping of argument to variable",
  "",
  "Arguments that are read from environment variables of the executor. The value never leaves it.",
];
const TIMEOUT: YamlField = [
  "timeoutMs",
  `whole number, 1 to ${TIMEOUT_MS_MAX}`,
  String(TOOL_TIMEOUT_MS),
  "How long a call may take, in milliseconds.",
];
const QUEUE_TIMEOUT: YamlField = [
  "queueTimeoutMs",
  `whole number, 1 to ${TIMEOUT_MS_MAX}`,
  "none",
  "How long a call may wait for an executor each time, in milliseconds; for `service` and `edge`. Without it one deadline, the timeout and two leases, bounds waiting and running together.",
];
const EFFECT: YamlField = [
  "effect",
  `one of ${effects}`,
  TOOL_EFFECT_DEFAULT,
  "What a run that was cut off means: `read` and `idempotent` run again, `once` does not.",
];
const RECONCILE: YamlField = [
  "reconcile",
  "true or false",
  "false",
  "The tool can say what became of a run that was cut off.",
];
const RETRY: YamlField = [
  "retry",
  "{max_attempts, backoff}",
  "see below",
  "How often a failure that says `retryable`, or a crash, is tried again.",
];
const LIMIT: YamlField = [
  "errorMessageLimit",
  `whole number, 1 to ${ERROR_MESSAGE_LIMIT_MAX}`,
  String(ERROR_MESSAGE_CHARS_MAX),
  "How many characters of an error message are kept.",
];

const TOOL_OPTIONS: YamlMapping = {
  at: "options",
  fields: [
    ARGS,
    ENVS,
    EFFECT,
    RETRY,
    TIMEOUT,
    QUEUE_TIMEOUT,
    [
      "timeout_seconds",
      "number",
      "",
      "The same in seconds, where `timeoutMs` is absent; of this and `suspend_timeout_seconds` the larger one counts.",
    ],
    ["suspend_timeout_seconds", "number", "", "The same."],
    LIMIT,
    [
      "placement",
      `one of ${placements}`,
      "service",
      "Where it runs. An upload brings no code: only `service` and `edge`.",
    ],
    RECONCILE,
    [
      "delegation_policy",
      "{operations, target_tags, target_profiles}",
      "none",
      "The same as `delegationPolicy` of an export.",
    ],
  ],
};

export const TOOL: YamlSection = {
  title: "Tool",
  text: "Tools and where their code is. Each export becomes the tool `<resource>__<export>`. What stands at an export wins over `spec`, field by field. `options` takes the same as in the CommonGround form below; executors may have others of their own there, but none whose name is nearly one of Tessera's.",
  mappings: [
    {
      at: "spec",
      keys: "goondan-tool.ts SPEC_KEYS",
      fields: [
        ["entry", "path of a module in the bundle", "", "The code; needed where it runs here (`inline`, `isolated`)."],
        ["exports", "list of 1 to 100", "required", "The tools."],
        ["placement", `one of ${placements}`, "isolated with `entry`, else service", "Where it runs."],
        [
          "target",
          "letters, digits, `_` and `-`",
          "the resource's name",
          "Whose calls these are, for `service` and `edge`.",
        ],
        LIMIT,
        ["options", "mapping", "", "For all exports."],
        ARGS,
        ENVS,
      ],
    },
    {
      at: "spec.exports[]",
      keys: "goondan-tool.ts EXPORT_KEYS",
      fields: [
        ["name", "letters, digits, `_` and `-`, without `__`", "required", "The handler's name in the module."],
        ["description", "text", "", "What the model is told."],
        ["parameters", "JSON Schema with `type: object`", "any object", "What the model may send."],
        EFFECT,
        RETRY,
        TIMEOUT,
        QUEUE_TIMEOUT,
        [
          "delegationPolicy",
          "{operations, targetTags, targetProfiles}",
          "none",
          "What its code may reach through `ctx.runtime`; an executor with a key reaches nothing without one.",
        ],
        [
          "afterExecution",
          "`suspend` or `terminate`",
          "suspend",
          "Whether the turn goes on after it, or ends with its result.",
        ],
        RECONCILE,
        ARGS,
        ENVS,
        ["options", "mapping", "", "For this export."],
      ],
    },
    {
      at: "retry",
      keys: "tool-options.ts RETRY_KEYS",
      fields: [
        [
          "max_attempts",
          `whole number, 1 to ${ATTEMPTS_MAX_MAX}`,
          String(ATTEMPTS_MAX_DEFAULT),
          "The first run included.",
        ],
        ["maxAttempts", "", "", "Another word for `max_attempts`."],
        [
          "backoff",
          `whole number, 0 to ${BACKOFF_MS_MAX}`,
          String(BACKOFF_MS_DEFAULT),
          "The first pause in milliseconds.",
        ],
        ["backoffMs", "", "", "Another word for `backoff`."],
      ],
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

export const API_TOOL: YamlSection = {
  title: "Tool from an OpenAPI document",
  text: "Instead of code, the description of an HTTP API: each operation becomes a tool. Only in a bundle.",
  mappings: [
    {
      at: "spec",
      keys: "goondan-api.ts SPEC_KEYS",
      fields: [
        ["openapi", "mapping", "required", "The API."],
        ["placement", "`service` or `edge`", "service", "Where its tools run."],
        ["target", "letters, digits, `_` and `-`", "the resource's name", "Whose calls these are."],
        TIMEOUT,
        QUEUE_TIMEOUT,
        ["entry", "", "", "Cannot stand beside `openapi`."],
        ["exports", "", "", "Cannot stand beside `openapi`."],
      ],
    },
    {
      at: "spec.openapi",
      keys: "goondan-api.ts KEYS",
      fields: [
        ["document", "path of a YAML or JSON file in the bundle", "required", "The OpenAPI document."],
        ["hosts", "list of host names", "required", "The only hosts that its tools may reach."],
        ["operations", "list of ids, {tag} or {method, path}", "all", "Which operations become tools."],
        [
          "auth",
          "mapping of scheme or header to variable",
          "",
          "The environment variable that holds the credential. It goes out with the operations of this document and, where another definition describes one of them, with that; the setting `credentials` allows more.",
        ],
        ["baseUrl", "https address", "that of the document", "Where the API is; on one of the hosts."],
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
        ["tool_name", "letters, digits, `_` and `-`, at most one `__`", "required", "What the model calls."],
        ["name", "", "", "Another word for `tool_name`, where that is absent."],
        ["description", "text", "", "What the model is told."],
        [
          "target_subject",
          "`cg.v1r4.{project_id}.{channel_id}.cmd.tool.<target>.<action>`",
          "required",
          "Who runs it.",
        ],
        [
          "after_execution",
          "`suspend` or `terminate`",
          "required",
          "Whether the turn goes on after it, or ends with its result.",
        ],
        ["parameters", "JSON Schema with `type: object`", "any object", "What the model may send."],
        ["options", "mapping", "", "See below; keys that are not known are kept and not obeyed."],
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
