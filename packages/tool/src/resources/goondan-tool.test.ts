import { describe, expect, it } from "vitest";
import type { Mistake } from "./place.ts";
import { type ToolDocument, toolDefinitionsOf } from "./tool-document.ts";
import { readYaml } from "./yaml-gate.ts";
import type { YamlKind } from "./yaml-limits.ts";

const read = (text: string, source: YamlKind = "bundle"): ToolDocument => {
  const [document] = readYaml(text, { kind: source, file: "t.yaml" });
  if (document === undefined) throw new Error("no document");
  return toolDefinitionsOf(document, { source });
};
const shortOf = ({ code, line, column, pointer }: Mistake): string => `${code} ${line}:${column} ${pointer}`;
const wrongIn = (text: string, source: YamlKind = "bundle"): readonly string[] => {
  const { mistakes, tools } = read(text, source);
  expect(tools).toEqual([]);
  return mistakes.map(shortOf);
};

const HEAD = "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata:\n  name: my-tool\n";
/** `spec` on line 5, its first field on line 6. */
const spec = (yaml: string): string => `${HEAD}spec:\n${yaml.replace(/^/gm, "  ")}\n`;

// As published in the Tool API reference.
const MY_TOOL = `apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: my-tool
spec:
  entry: "./tools/my-tool/index.ts"
  errorMessageLimit: 1200
  exports:
    - name: search
      description: "Search for items by query"
      parameters:
        type: object
        properties:
          query:
            type: string
            description: "Search query string"
          limit:
            type: number
            description: "Maximum number of results (default: 10)"
        required: [query]
`;
const TEXT_UTILS = `apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: text-utils
spec:
  entry: "./tools/text-utils/index.ts"
  exports:
    - name: uppercase
      description: "Convert text to uppercase"
      parameters:
        type: object
        properties:
          text:
            type: string
            description: "Text to convert"
        required: [text]
`;

describe("the published examples", () => {
  it("my-tool becomes a definition that runs isolated", () => {
    const { tools, mistakes, ignored } = read(MY_TOOL);
    expect({ mistakes, ignored }).toEqual({ mistakes: [], ignored: [] });
    expect(tools).toMatchObject([
      {
        definition: {
          tool_name: "my-tool__search",
          description: "Search for items by query",
          parameters: {
            type: "object",
            properties: {
              query: { type: "string", description: "Search query string" },
              limit: { type: "number", description: "Maximum number of results (default: 10)" },
            },
            required: ["query"],
          },
          target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.my-tool.search",
          after_execution: "suspend",
          options: { errorMessageLimit: 1200, placement: "isolated" },
        },
        entry: "./tools/my-tool/index.ts",
        export_name: "search",
        file: "t.yaml",
        line: 9,
        column: 7,
      },
    ]);
  });

  it("text-utils uploads too, as a service, and its entry is named as not used", () => {
    const { tools, ignored } = read(TEXT_UTILS, "upload");
    expect(tools[0]?.definition).toMatchObject({
      tool_name: "text-utils__uppercase",
      options: { placement: "service" },
    });
    expect(ignored.map(({ pointer, line }) => `${pointer} ${line}`)).toEqual(["/spec/entry 6"]);
  });
});

it("what stands at an export wins over spec, and each field says where it came from", () => {
  const { tools, mistakes } = read(
    spec(
      `target: finder
placement: edge
options: {effect: read, ui_allowed: true, retry: {maxAttempts: 5, backoffMs: 10}}
args: {fixed: {lang: en}}
envs: {key: FIND_KEY}
exports:
  - name: find
  - name: store
    effect: once
    retry: {max_attempts: 1}
    timeoutMs: 500
    afterExecution: terminate
    args: {defaults: {k: 1}}`,
    ),
  );
  expect(mistakes).toEqual([]);
  expect(tools.map(({ definition }) => definition)).toEqual([
    {
      tool_name: "my-tool__find",
      description: "",
      parameters: { type: "object" },
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.finder.find",
      after_execution: "suspend",
      options: {
        effect: "read",
        ui_allowed: true,
        retry: { max_attempts: 5, backoff: 10 },
        args: { fixed: { lang: "en" } },
        envs: { key: "FIND_KEY" },
        placement: "edge",
      },
    },
    {
      tool_name: "my-tool__store",
      description: "",
      parameters: { type: "object" },
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.finder.store",
      after_execution: "terminate",
      options: {
        effect: "once",
        ui_allowed: true,
        retry: { max_attempts: 1 },
        args: { defaults: { k: 1 } },
        envs: { key: "FIND_KEY" },
        placement: "edge",
        timeoutMs: 500,
      },
    },
  ]);
});

describe("where a tool runs by default", () => {
  it.each([
    { source: "bundle", yaml: "entry: a.ts\n", placement: "isolated" },
    { source: "bundle", yaml: "", placement: "service" },
    { source: "bundle", yaml: "entry: a.ts\noptions: {placement: inline}\n", placement: "inline" },
    { source: "upload", yaml: "entry: a.ts\n", placement: "service" },
    { source: "upload", yaml: "placement: edge\n", placement: "edge" },
  ] as const)("$source: $yaml → $placement", ({ source, yaml, placement }) => {
    expect(read(spec(`${yaml}exports: [{name: a}]`), source).tools[0]?.definition.options.placement).toBe(placement);
  });
});

describe("a Tool resource is refused for", () => {
  const ok = "exports: [{name: a}]";
  it.each([
    ["another version", spec(ok).replace("/v1", "/v2"), "E_CONFIG_UNSUPPORTED_API_VERSION 1:13 /apiVersion"],
    ["no version", spec(ok).replace(/^api.*\n/, ""), "E_CONFIG_UNSUPPORTED_API_VERSION 1:1 /apiVersion"],
    ["an unknown kind", spec(ok).replace("Tool", "Tol"), "E_CONFIG_UNKNOWN_KIND 2:7 /kind"],
    ["capitals in its name", spec(ok).replace("my-tool", "MyTool"), "E_CONFIG_INVALID_NAME 4:9 /metadata/name"],
    ["__ in its name", spec(ok).replace("my-tool", "my__tool"), "E_CONFIG_INVALID_NAME 4:9 /metadata/name"],
    ["a name of 64 letters", spec(ok).replace("my-tool", "a".repeat(64)), "E_CONFIG_INVALID_NAME 4:9 /metadata/name"],
    ["no name", spec(ok).replace("name: my-tool", "labels: {}"), "E_CONFIG_INVALID_NAME 4:3 /metadata/name"],
    ["no spec", HEAD, "E_CONFIG_SCHEMA_INVALID 1:1 /spec"],
    ["no exports", spec("entry: a.ts"), "E_CONFIG_SCHEMA_INVALID 6:3 /spec/exports"],
    ["empty exports", spec("exports: []"), "E_CONFIG_SCHEMA_INVALID 6:12 /spec/exports"],
    [
      "an export twice",
      spec("exports:\n  - name: a\n  - name: a"),
      "E_CONFIG_SCHEMA_INVALID 8:13 /spec/exports/1/name",
    ],
    ["an export that is text", spec("exports: [a]"), "E_CONFIG_SCHEMA_INVALID 6:13 /spec/exports/0"],
    ["an export without a name", spec("exports: [{}]"), "E_CONFIG_INVALID_NAME 6:13 /spec/exports/0/name"],
    ["__ in an export", spec("exports: [{name: a__b}]"), "E_CONFIG_INVALID_NAME 6:20 /spec/exports/0/name"],
    ["a dot in an export", spec("exports: [{name: a.b}]"), "E_CONFIG_INVALID_NAME 6:20 /spec/exports/0/name"],
    [
      "names too long together",
      spec(`exports: [{name: ${"a".repeat(60)}}]`),
      "E_CONFIG_INVALID_NAME 6:20 /spec/exports/0/name",
    ],
    ["an absolute entry", spec(`entry: /etc/x.ts\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:10 /spec/entry"],
    ["an entry outside", spec(`entry: ./a/../../x.ts\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:10 /spec/entry"],
    ["an entry that is a URL", spec(`entry: file:///x.ts\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:10 /spec/entry"],
    ["a placement without code", spec(`placement: inline\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:3 /spec/entry"],
    ["an unknown placement", spec(`placement: moon\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:14 /spec/placement"],
    ["a target of two tokens", spec(`target: a.b\n${ok}`), "invalid_target_subject 6:11 /spec/target"],
    ["a limit of 0", spec(`errorMessageLimit: 0\n${ok}`), "E_CONFIG_SCHEMA_INVALID 6:22 /spec/errorMessageLimit"],
    [
      "an effect of its own",
      spec("exports: [{name: a, effect: twice}]"),
      "E_CONFIG_SCHEMA_INVALID 6:31 /spec/exports/0/effect",
    ],
    [
      "afterExecution: no",
      spec("exports: [{name: a, afterExecution: no}]"),
      "E_CONFIG_SCHEMA_INVALID 6:39 /spec/exports/0/afterExecution",
    ],
    [
      "a broken schema",
      spec("exports: [{name: a, parameters: {type: string}}]"),
      "E_CONFIG_SCHEMA_INVALID 6:42 /spec/exports/0/parameters/type",
    ],
    [
      "a keyword that its draft does not have",
      spec(
        'exports: [{name: a, parameters: {$schema: "http://json-schema.org/draft-04/schema#", type: object, properties: {x: {const: 1}}}}]',
      ),
      "E_CONFIG_SCHEMA_INVALID 6:126 /spec/exports/0/parameters/properties/x/const",
    ],
    ["a forbidden variable in spec", spec(`envs: {k: PATH}\n${ok}`), "env_not_allowed 6:13 /spec/envs/k"],
    [
      "a forbidden variable in an export",
      spec("exports: [{name: a, envs: {k: PATH}}]"),
      "env_not_allowed 6:33 /spec/exports/0/envs/k",
    ],
    [
      "a template variable",
      spec("exports: [{name: a, args: {fixed: {k: '{x}'}}}]"),
      "unknown_template_var 6:41 /spec/exports/0/args/fixed/k",
    ],
    [
      "unseen characters",
      spec('exports: [{name: a, description: "\\u2066"}]'),
      "E_CONFIG_SCHEMA_INVALID 6:36 /spec/exports/0/description",
    ],
  ])("%s", (_, text, expected) => {
    expect(wrongIn(text)).toEqual([expected]);
  });

  it.each([
    [
      "that its draft does not have",
      '$schema: "http://json-schema.org/draft-07/schema#"',
      "prefixItems: []",
      "prefixItems",
    ],
    ["that is not checked", "type: object", "$recursiveRef: '#'", "$recursiveRef"],
    ["that leads out of the schema", "type: object", '$ref: "https://schemas.example/x.json"', "$ref"],
    ["of a format that is not known", "type: object", "format: moon-phase", "format"],
  ])("a keyword %s, by the tool's name", (_, head, keyword, name) => {
    const parameters = `{${head}, type: object, properties: {x: {${keyword}}}}`.replace("type: object, type", "type");
    const [mistake] = read(spec(`exports: [{name: a, parameters: ${parameters}}]`)).mistakes;
    expect(mistake?.message).toContain(
      `the parameters of my-tool__a: /spec/exports/0/parameters/properties/x/${name} `,
    );
  });

  it("an upload that asks to run where its code is not, and says why", () => {
    const { mistakes } = read(spec("placement: inline\nexports: [{name: a}]"), "upload");
    expect(mistakes.map(shortOf)).toEqual(["schema_invalid 6:14 /spec/placement"]);
    expect(mistakes[0]?.message).toContain("an upload brings none");
  });

  it("an upload of another kind", () => {
    expect(wrongIn(spec("provider: x").replace("Tool", "Model"), "upload")).toEqual(["schema_invalid 2:7 /kind"]);
  });

  it("everything at once", () => {
    const text = spec("exports:\n  - name: a__b\n    timeoutMs: -1\n  - name: ok\n    retry: 3").replace(
      "my-tool",
      "X",
    );
    expect(wrongIn(text)).toEqual([
      "E_CONFIG_INVALID_NAME 4:9 /metadata/name",
      "E_CONFIG_INVALID_NAME 7:13 /spec/exports/0/name",
      "E_CONFIG_SCHEMA_INVALID 8:18 /spec/exports/0/timeoutMs",
      "E_CONFIG_SCHEMA_INVALID 10:14 /spec/exports/1/retry",
    ]);
  });
});

it("fields that there are not are mistakes with the nearest name", () => {
  const { mistakes } = read(spec("placment: edge\nexports: [{name: a, afterexecution: terminate}]"));
  expect(mistakes.map(({ message }) => message)).toEqual([
    't.yaml:6:3: "placment" is not a field here; did you mean `placement`?',
    't.yaml:7:23: "afterexecution" is not a field here; did you mean `afterExecution`?',
  ]);
});

it("options of executors stay, and one that is nearly an option of Tessera is a mistake", () => {
  const { mistakes } = read(spec("options: {acme: {a: 1}, region: eu, efect: read}\nexports: [{name: a}]"));
  expect(mistakes.map(({ message }) => message)).toEqual([
    't.yaml:6:39: "efect" is not an option of Tessera; did you mean `effect`?',
  ]);
});

describe("queueTimeoutMs", () => {
  const tool = (placement: string, more: string) => spec(`placement: ${placement}\nentry: ./a.ts\n${more}`);

  it.each(["service", "edge"])("of an export is an option of its definition with placement %s", (placement) => {
    const { tools, mistakes } = read(tool(placement, "exports: [{ name: go, queueTimeoutMs: 2000 }]"));
    expect(mistakes).toEqual([]);
    expect(tools[0]?.definition.options).toEqual({ placement, queueTimeoutMs: 2_000 });
  });

  it("of spec.options counts for every export that has none of its own", () => {
    const exports = "exports: [{ name: a }, { name: b, queueTimeoutMs: 5 }]";
    const { tools } = read(tool("edge", `options: { queueTimeoutMs: 9 }\n${exports}`));
    expect(tools.map(({ definition }) => definition.options.queueTimeoutMs)).toEqual([9, 5]);
  });

  it.each([
    ["inline", "2000"],
    ["isolated", "2000"],
    ["service", "0"],
    ["service", "2s"],
    ["edge", "604800001"],
  ])("of a tool with placement %s cannot be %s", (placement, value) => {
    const { mistakes } = read(tool(placement, `exports: [{ name: go, queueTimeoutMs: ${value} }]`));
    expect(mistakes.map(shortOf)).toEqual([expect.stringMatching(/ \/spec\/exports\/0\/queueTimeoutMs$/)]);
  });

  it("may stand in an upload of either form", () => {
    const flat = `tool_name: greet\ntarget_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.run\nafter_execution: suspend\n`;
    expect(read(`${flat}options: { queueTimeoutMs: 7 }\n`, "upload").tools[0]?.definition.options).toEqual({
      queueTimeoutMs: 7,
    });
    expect(read(spec("exports: [{ name: go, queueTimeoutMs: 7 }]"), "upload").tools[0]?.definition.options).toEqual({
      placement: "service",
      queueTimeoutMs: 7,
    });
  });
});

describe("delegationPolicy", () => {
  const tool = (policy: string) => spec(`placement: edge\nexports: [{ name: go, delegationPolicy: ${policy} }]`);

  it("of an export is stored under the names of the wire", () => {
    const { tools, mistakes } = read(tool("{ operations: [send], targetTags: [a], targetProfiles: [b] }"));
    expect(mistakes).toEqual([]);
    expect(tools[0]?.definition.options.delegation_policy).toEqual({
      operations: ["send"],
      target_tags: ["a"],
      target_profiles: ["b"],
    });
  });

  it.each(["all", "{ operations: [stop] }", "{ targetProfile: [b] }", "{ targetTags: a }"])(
    "that cannot be read is a mistake with a place: %s",
    (policy) => {
      const { mistakes } = read(tool(policy));
      expect(mistakes.map(shortOf)).toEqual([expect.stringMatching(/ \/spec\/exports\/0\/delegationPolicy/)]);
    },
  );
});
