// Every mistake that a bundle can hold, with the place where its author finds it.

import { describe, expect, it } from "vitest";
import { MODEL, read, resource, told, WEATHER } from "./bundle-text.fixture.ts";
import { readSwarmBundle } from "./swarm-bundle.ts";

const model = (spec: string): string => resource("Model", "m", spec);
const agent = (spec: string): string => resource("Agent", "a", `  modelConfig:\n    modelRef: Model/fast\n${spec}`);
const BUILTIN = "{kind: Extension, name: message-window, package: '@tessera/base'}";
const swarm = (spec: string): string => resource("Swarm", "s", spec);

describe("a mistake is reported with its line and column", () => {
  // Line 5 is `spec:` of the only document, or of the first one in the list.
  it.each<[string, string[], string[], string]>([
    ["a kind that is not known", [resource("Agnt", "a")], ["UNKNOWN_KIND 2:7"], "Agnt"],
    [
      "another apiVersion",
      [resource("Model", "m").replace("v1", "v2")],
      ["UNSUPPORTED_API_VERSION 1:13"],
      "apiVersion must be tessera/v1, found",
    ],
    ["a name in capitals", [resource("Agent", "Main")], ["INVALID_NAME 4:9"], "Main"],
    ["a name of 64 characters", [resource("Model", "m".repeat(64))], ["INVALID_NAME 4:9"], "at most 63"],
    ["no spec", [resource("Model", "m")], ["SCHEMA_INVALID 1:1"], "spec is missing"],
    ["a spec that is a list", [model("  - a\n")], ["SCHEMA_INVALID 6:3"], "must be a mapping"],
    [
      "a Model without provider and model",
      [model("  options: {}\n")],
      ["SCHEMA_INVALID 6:3", "SCHEMA_INVALID 6:3"],
      "provider is missing",
    ],
    ["an unknown provider", [model("  provider: acme\n  model: x\n")], ["SCHEMA_INVALID 6:13"], "endpoint"],
    [
      "an endpoint that is none",
      [model("  provider: acme\n  model: x\n  endpoint: ftp://x\n")],
      ["SCHEMA_INVALID 8:13"],
      "http",
    ],
    [
      "a key written out",
      [model("  provider: openai\n  model: x\n  apiKey: {value: sk-secret}\n")],
      ["SCHEMA_INVALID 8:11"],
      "valueFrom",
    ],
    [
      "a key in its place",
      [model("  provider: openai\n  model: x\n  apiKey: sk-secret\n")],
      ["SCHEMA_INVALID 8:11"],
      "valueFrom",
    ],
    [
      "a key in place of where it is",
      [model("  provider: openai\n  model: x\n  apiKey: {valueFrom: sk-secret}\n")],
      ["SCHEMA_INVALID 8:23"],
      "valueFrom",
    ],
    [
      "a key among the options",
      [model("  provider: openai\n  model: x\n  options: {api_key: sk-secret}\n")],
      ["SCHEMA_INVALID 8:13"],
      "apiKey",
    ],
    [
      "a key as the name of its variable",
      [model("  provider: openai\n  model: x\n  apiKey: {valueFrom: {env: sk-secret}}\n")],
      ["SCHEMA_INVALID 8:29"],
      "environment variable",
    ],
    [
      "a key from two places",
      [model("  provider: openai\n  model: x\n  apiKey: {valueFrom: {env: A, secretRef: {ref: Secret/a, key: b}}}\n")],
      ["SCHEMA_INVALID 8:23"],
      "either",
    ],
    [
      "a secret that is none",
      [model("  provider: openai\n  model: x\n  apiKey: {valueFrom: {secretRef: {ref: Sec/a, key: b}}}\n")],
      ["INVALID_REF 8:41"],
      "Secret/<name>",
    ],
    [
      "a capability that is a word",
      [model("  provider: openai\n  model: x\n  capabilities: {streaming: sure}\n")],
      ["SCHEMA_INVALID 8:29"],
      "true or false",
    ],
    ["a scripted model without rules", [model("  provider: scripted\n")], ["SCHEMA_INVALID 6:3"], "rules"],
    [
      "two rules of a script, each with its own",
      [
        model(
          "  provider: scripted\n  options:\n    rules:\n      - when: {stepp: 1}\n        reply: {text: a}\n      - reply: {text: b}\n      - reply: {delayMs: soon}\n",
        ),
      ],
      ["SCHEMA_INVALID 9:23", "SCHEMA_INVALID 12:26"],
      "stepp",
    ],
    [
      "an Agent without a model",
      [resource("Agent", "a", "  tools: []\n")],
      ["SCHEMA_INVALID 6:3"],
      "modelRef is missing",
    ],
    [
      "a bare name",
      [MODEL, resource("Agent", "a", "  modelConfig: {modelRef: fast}\n")],
      ["INVALID_REF 14:27"],
      "Model/<name>",
    ],
    [
      "two slashes",
      [MODEL, resource("Agent", "a", "  modelConfig: {modelRef: Model/fast/er}\n")],
      ["INVALID_REF 14:27"],
      "found",
    ],
    [
      "a reference to another kind",
      [MODEL, resource("Agent", "a", "  modelConfig: {modelRef: Agent/a}\n")],
      ["INVALID_REF 14:27"],
      "a Model is meant here",
    ],
    [
      "a reference to nothing",
      [MODEL, resource("Agent", "a", "  modelConfig: {modelRef: Model/slow}\n")],
      ["REF_NOT_FOUND 14:27"],
      "there are fast",
    ],
    [
      "a selector",
      [MODEL, agent("  tools:\n    - selector: {matchLabels: {a: b}}\n")],
      ["INVALID_REF 17:7"],
      "selectors are not supported",
    ],
    [
      "a reference with another apiVersion",
      [MODEL, agent("  tools:\n    - {kind: Tool, name: x, apiVersion: v9}\n")],
      ["INVALID_REF 17:7"],
      "tessera/v1",
    ],
    [
      "a package that is not installed",
      [MODEL, agent("  tools:\n    - {kind: Tool, name: x, package: '@me/x'}\n")],
      ["PACKAGE_NOT_INSTALLED 17:7"],
      "not installed",
    ],
    [
      "a built-in that does not exist",
      [MODEL, agent("  tools:\n    - {kind: Tool, name: bsh, package: '@goondan/base'}\n")],
      ["REF_NOT_FOUND 17:7"],
      "bash, wait",
    ],
    [
      "a built-in without its package",
      [MODEL, agent("  tools: [Tool/bash]\n")],
      ["REF_NOT_FOUND 16:11"],
      "@tessera/base",
    ],
    [
      "an export that does not exist",
      [MODEL, agent("  tools: [Tool/weather__now]\n"), WEATHER],
      ["REF_NOT_FOUND 16:11"],
      'the Tool weather has no export "weather__now"; it has weather__forecast',
    ],
    [
      "an export that is nearly one",
      [MODEL, agent("  tools: [Tool/weather__forcast]\n"), WEATHER],
      ["REF_NOT_FOUND 16:11"],
      "did you mean weather__forecast?",
    ],
    [
      "an Extension that does not exist",
      [MODEL, agent("  extensions: [Extension/log]\n")],
      ["REF_NOT_FOUND 16:16"],
      "there is none at all",
    ],
    [
      "a built-in Extension without its package",
      [MODEL, agent("  extensions: [Extension/message-window]\n")],
      ["REF_NOT_FOUND 16:16"],
      'the built-in one is {kind: Extension, name: message-window, package: "@tessera/base"}',
    ],
    [
      "a built-in Extension that there is not",
      [MODEL, agent("  extensions: [{kind: Extension, name: mcp, package: '@goondan/base'}]\n")],
      ["REF_NOT_FOUND 16:16"],
      'there is no built-in Extension "mcp"',
    ],
    [
      "a configuration that a built-in Extension does not take",
      [MODEL, agent(`  extensions:\n    - ref: ${BUILTIN}\n      config: {maxMessage: 3}\n`)],
      ["SCHEMA_INVALID 18:28"],
      "did you mean `maxMessages`?",
    ],
    [
      "a value that a built-in Extension does not take",
      [MODEL, agent(`  extensions:\n    - ref: ${BUILTIN}\n      config: {maxMessages: many}\n`)],
      ["SCHEMA_INVALID 18:29"],
      'maxMessages must be a whole number from 1 to 10000, found "many"',
    ],
    [
      "a configuration of an Extension that is a word",
      [
        MODEL,
        agent("  extensions: [{ref: Extension/e, config: loud}]\n"),
        resource("Extension", "e", "  entry: ./e.ts\n"),
      ],
      ["SCHEMA_INVALID 16:43"],
      "config must be a mapping",
    ],
    [
      "something else beside the reference to an Extension",
      [
        MODEL,
        agent("  extensions: [{ref: Extension/e, configs: {}}]\n"),
        resource("Extension", "e", "  entry: ./e.ts\n"),
      ],
      ["SCHEMA_INVALID 16:35"],
      "did you mean `config`?",
    ],
    [
      "two Extensions of a name",
      [
        MODEL,
        agent(`  extensions: [Extension/message-window, {ref: ${BUILTIN}}]\n`),
        resource("Extension", "message-window", "  entry: ./e.ts\n"),
      ],
      ["DUPLICATE_NAME 16:42"],
      "an agent has one of a name",
    ],
    [
      "a prompt in two places",
      [MODEL, agent("  prompt:\n    system: a\n    systemRef: ./b.md\n")],
      ["SCHEMA_INVALID 18:5"],
      "not both",
    ],
    [
      "a prompt outside the bundle",
      [MODEL, agent("  prompt: {systemRef: ../b.md}\n")],
      ["SCHEMA_INVALID 16:23"],
      "inside the bundle",
    ],
    [
      "an Extension with another onError",
      [resource("Extension", "e", "  entry: ./e.ts\n  onError: ignore\n")],
      ["SCHEMA_INVALID 7:12"],
      "fail or skip",
    ],
    [
      "a prompt that is not there",
      [MODEL, agent("  prompt: {systemRef: ./b.md}\n")],
      ["REF_NOT_FOUND 16:23"],
      "./b.md",
    ],
    [
      "a temperature in words",
      [
        MODEL,
        resource(
          "Agent",
          "a",
          "  modelConfig:\n    modelRef: Model/fast\n    params: {temperature: hot, topP: 2, maxTokens: 1.5}\n",
        ),
      ],
      ["SCHEMA_INVALID 16:27", "SCHEMA_INVALID 16:52", "SCHEMA_INVALID 16:38"],
      "from 0 to 100",
    ],
    [
      "an unknown internal tool",
      [MODEL, agent("  allowedInternalTools: [fork]\n")],
      ["SCHEMA_INVALID 16:25"],
      "fork_join",
    ],
    [
      "a turn that could not end",
      [MODEL, agent("  mustEndWith: [weather__forecast]\n"), WEATHER],
      ["REF_NOT_FOUND 16:16"],
      "no turn could end",
    ],
    [
      "required tools that are not offered",
      [MODEL, agent("  requiredTools: [Tool/weather]\n"), WEATHER],
      ["REF_NOT_FOUND 16:18"],
      "no turn could end",
    ],
    ["a memory that is a word", [MODEL, agent("  memory: all\n")], ["SCHEMA_INVALID 16:11"], "must be a mapping"],
    [
      "a memory of too many turns and of no characters",
      [MODEL, agent("  memory: {turns: 201, characters: 0}\n")],
      ["SCHEMA_INVALID 16:19", "SCHEMA_INVALID 16:36"],
      "turns must be a whole number from 0 to 200",
    ],
    [
      "a field that a memory does not have",
      [MODEL, agent("  memory: {turn: 2}\n")],
      ["SCHEMA_INVALID 16:12"],
      "did you mean `turns`?",
    ],
    [
      "a required name that is no tool of the agent",
      [MODEL, agent("  tools: [Tool/weather]\n  requiredTools: [weather__rain]\n"), WEATHER],
      ["REF_NOT_FOUND 17:19"],
      '"weather__rain" is no tool of this agent; it has weather__forecast',
    ],
    [
      "a required name of a Tool that is not there, once",
      [MODEL, agent("  tools: [Tool/wether]\n  requiredTools: [wether__forecast]\n"), WEATHER],
      ["REF_NOT_FOUND 16:11"],
      "did you mean weather",
    ],
    [
      "an order of calls that there is not",
      [MODEL, agent("  toolCalls: serial\n")],
      ["SCHEMA_INVALID 16:14"],
      "toolCalls must be parallel or sequential",
    ],
    ["steps without end", [MODEL, agent("  maxSteps: 0\n")], ["SCHEMA_INVALID 16:13"], "from 1 to 1000"],
    ["a target that no subject can hold", [MODEL, agent("  workerTarget: a.b\n")], ["SCHEMA_INVALID 16:17"], "letters"],
    ["tags that are numbers", [MODEL, agent("  tags: [1, a]\n")], ["SCHEMA_INVALID 16:10"], "tags"],
    ["a policy that is a word", [MODEL, agent("  delegationPolicy: all\n")], ["SCHEMA_INVALID 16:21"], "mapping"],
    [
      "a Swarm without agents",
      [swarm("  agents: []\n")],
      ["SCHEMA_INVALID 6:11", "SCHEMA_INVALID 6:3"],
      "at least one",
    ],
    [
      "an entry that is no member",
      [
        MODEL,
        agent(""),
        resource("Agent", "b", "  modelConfig: {modelRef: Model/fast}\n"),
        swarm("  entryAgent: Agent/b\n  agents: [Agent/a]\n"),
      ],
      ["SCHEMA_INVALID 29:15"],
      "must be one of agents: a",
    ],
    [
      "a member twice",
      [MODEL, agent(""), swarm("  entryAgent: Agent/a\n  agents: [Agent/a, {ref: Agent/a}]\n")],
      ["SCHEMA_INVALID 23:27"],
      "twice",
    ],
    [
      "a policy out of range",
      [MODEL, agent(""), swarm("  entryAgent: Agent/a\n  agents: [Agent/a]\n  policy: {maxStepsPerTurn: 5000}\n")],
      ["SCHEMA_INVALID 24:29"],
      "1000",
    ],
    [
      "an instance key with a space",
      [MODEL, agent(""), swarm("  entryAgent: Agent/a\n  agents: [Agent/a]\n  instanceKey: a b\n")],
      ["SCHEMA_INVALID 24:16"],
      "instanceKey",
    ],
    [
      "an Extension outside the bundle",
      [resource("Extension", "e", "  entry: /etc/passwd\n")],
      ["SCHEMA_INVALID 6:10"],
      "inside the bundle",
    ],
    [
      "two Packages",
      [resource("Package", "'@me/a'"), resource("Package", "'@me/b'")],
      ["PACKAGE_DOC_DUPLICATED 7:7"],
      "one Package",
    ],
    ["a Package that comes late", [MODEL, resource("Package", "'@me/a'")], ["PACKAGE_DOC_POSITION 10:7"], "first"],
    [
      "a dependency that is a word",
      [resource("Package", "'@me/a'", "  dependencies: [x]\n")],
      ["SCHEMA_INVALID 6:18"],
      "dependency",
    ],
    [
      "a built-in tool beside the bundle's own of this name",
      [
        MODEL,
        agent('  tools: [Tool/bash, {kind: Tool, name: bash, package: "@goondan/base"}]\n'),
        WEATHER.replaceAll("weather", "bash").replaceAll("forecast", "exec"),
      ],
      ["DUPLICATE_NAME 16:22"],
      "the built-in bash__exec cannot be offered beside the bundle's own",
    ],
    [
      "a tool of Goondan's package that is not built in",
      [MODEL, agent('  tools: [{kind: Tool, name: telegram, package: "@goondan/base"}]\n')],
      ["REF_NOT_FOUND 16:11"],
      "telegram of @goondan/base is not built in; put its module into the bundle",
    ],
    ["a name given twice", [MODEL, MODEL], ["DUPLICATE_NAME 12:9"], "already defined"],
    [
      "a prompt with a typo",
      [MODEL, agent("  prompt:\n    systm: Be brief.\n")],
      ["SCHEMA_INVALID 17:5"],
      '"systm" is not a field here; did you mean `system`?',
    ],
    [
      "a field of an Agent with a typo",
      [MODEL, agent("  max_step: 3\n")],
      ["SCHEMA_INVALID 16:3"],
      "did you mean `maxSteps`?",
    ],
    [
      "a field of no Agent",
      [MODEL, agent("  colour: red\n")],
      ["SCHEMA_INVALID 16:3"],
      '"colour" is not a field here; the fields are allowedInternalTools, delegationPolicy, description',
    ],
    [
      "a field of modelConfig with a typo",
      [MODEL, resource("Agent", "a", "  modelConfig: {modelRef: Model/fast, parms: {topP: 1}}\n")],
      ["SCHEMA_INVALID 14:39"],
      "`params`",
    ],
    [
      "a field of a policy with a typo",
      [MODEL, agent("  delegationPolicy: {targetTag: [a]}\n")],
      ["SCHEMA_INVALID 16:22"],
      "`targetTags`",
    ],
    [
      "a field of a Model with a typo",
      [model("  provider: openai\n  model: x\n  endpont: https://x\n")],
      ["SCHEMA_INVALID 8:3"],
      "`endpoint`",
    ],
    [
      "a field of a Model that is a param",
      [model("  provider: openai\n  model: x\n  temperature: 1\n")],
      ["SCHEMA_INVALID 8:3"],
      "the fields are apiKey",
    ],
    [
      "a field of apiKey with a typo",
      [model("  provider: openai\n  model: x\n  apiKey: {valueFrm: {env: A}}\n")],
      ["SCHEMA_INVALID 8:12"],
      "`valueFrom`",
    ],
    [
      "a key as a field of apiKey",
      [model("  provider: openai\n  model: x\n  apiKey: {sk-secret}\n")],
      ["SCHEMA_INVALID 8:11"],
      "only valueFrom may stand here",
    ],
    [
      "a field of a Swarm and of its policy with a typo",
      [
        MODEL,
        agent(""),
        swarm(
          "  entryAgent: Agent/a\n  agents: [Agent/a]\n  instance_ky: a\n  policy: {maxStepPerTurn: 5, shutdown: {graceSeconds: 5}}\n",
        ),
      ],
      ["SCHEMA_INVALID 24:3", "SCHEMA_INVALID 25:12", "SCHEMA_INVALID 25:42"],
      "`maxStepsPerTurn`",
    ],
    [
      "a field of an Extension with a typo",
      [resource("Extension", "e", "  entry: ./e.ts\n  confg: {}\n")],
      ["SCHEMA_INVALID 7:3"],
      "`config`",
    ],
    [
      "fields of a Package with typos",
      [
        resource(
          "Package",
          "'@me/a'",
          "  versoin: '1'\n  registry: {url: https://x, adress: y}\n  dependencies: [{name: a, version: '1', form: b}]\n",
        ),
      ],
      ["SCHEMA_INVALID 6:3", "SCHEMA_INVALID 7:30", "SCHEMA_INVALID 8:42"],
      "`version`",
    ],
    [
      "fields around spec with typos",
      [MODEL.replace("  name: fast\n", "  name: fast\n  lables: {a: b}\n").replace("spec:", "status: 1\nspec:")],
      ["SCHEMA_INVALID 6:1", "SCHEMA_INVALID 5:3"],
      "`labels`",
    ],
    [
      "a reference with a field of no reference",
      [MODEL, agent("  tools: [{kind: Tool, name: weather, pakage: x}]\n"), WEATHER],
      ["SCHEMA_INVALID 16:39"],
      "`package`",
    ],
    [
      "fields of a Tool, of an export and of its retry with typos",
      [
        resource(
          "Tool",
          "t",
          "  entry: ./t.ts\n  placment: inline\n  exports: [{name: a, efect: read, retry: {maxAttempt: 2}, options: {timeoutMS: 5}}]\n",
        ).replace("  name: t\n", "  name: t\n  lable: {}\n"),
      ],
      ["SCHEMA_INVALID 5:3", "SCHEMA_INVALID 8:3", "SCHEMA_INVALID 9:23", "SCHEMA_INVALID 9:70", "SCHEMA_INVALID 9:44"],
      "`effect`",
    ],
  ])("%s", async (_title, documents, places, words) => {
    const bundle = await read(documents);
    expect(told(bundle)).toEqual(places);
    const messages = bundle.mistakes.map(({ message }) => message).join("\n");
    expect(messages).toMatch(/^goondan\.yaml:\d+:\d+: /);
    expect(messages).toContain(words);
    expect(messages).not.toContain("sk-secret");
    expect(JSON.stringify([bundle.models, bundle.warnings])).not.toContain("sk-secret");
  });
});

describe("a reference to what has a mistake of its own", () => {
  const uses = (refs: string): string => agent(`  prompt: {system: hi}\n${refs}`);
  const broken = WEATHER.replace("name: forecast", "nme: forecast");
  const last = async (documents: readonly string[], more: { path: string; text: string }[] = []) => {
    const files = [{ path: "goondan.yaml", text: documents.join("---\n") }, ...more];
    const { mistakes } = await readSwarmBundle(files, { builtins: [] });
    return mistakes.filter(({ code }) => code === "E_CONFIG_REF_NOT_FOUND").map(({ message }) => message);
  };

  it("is no mistake, whatever its kind, and even where its file is no YAML", async () => {
    expect(await last([MODEL, uses("  tools: [Tool/weather]\n"), broken])).toEqual([]);
    const extension = resource("Extension", "log", "  entry: ./a.ts\n").replace("/v1", "/v2");
    expect(await last([MODEL, uses("  extensions: [Extension/log]\n"), extension])).toEqual([]);
    const noYaml = (text: string) => [{ path: "tools.yaml", text: `${text}  more: [1\n` }];
    expect(await last([MODEL, uses("  tools: [Tool/weather]\n")], noYaml(WEATHER))).toEqual([]);
    expect(await last([uses("")], noYaml(MODEL))).toEqual([]);
    expect(await last([uses("")], noYaml(MODEL.replace("\n  name", " # of all\n  labels: {}\n  name")))).toEqual([]);
  });

  it("with a typo names it, and where its mistake is", async () => {
    const [tool] = await last([MODEL, uses("  tools: [Tool/wether]\n"), broken]);
    expect(tool).toContain('there is no Tool "wether"; there is weather, which has a mistake in goondan.yaml:19');
    const extension = resource("Extension", "logs", "  entry: ./a.ts\n").replace("/v1", "/v2");
    const [log] = await last([MODEL, uses("  extensions: [Extension/log]\n"), extension]);
    expect(log).toContain("there is logs, which has a mistake in goondan.yaml:19");
    const [cut] = await last([uses("")], [{ path: "models.yaml", text: `${MODEL.replace("fast", "fst")}  a: [\n` }]);
    expect(cut).toContain("there is fst, which has a mistake in models.yaml:4");
  });

  it("does not report that there is none at all where some have mistakes", async () => {
    const [tool] = await last([MODEL, uses("  tools: [Tool/clock]\n"), broken]);
    expect(tool).toContain("there are only some with mistakes of their own: weather (goondan.yaml:19)");
  });
});

it("all mistakes of all files are reported at once, and a broken resource is not missing as well", async () => {
  const bundle = await read([
    resource("Model", "fast", "  provider: 1\n  model: x\n"),
    resource("Agent", "a", "  modelConfig: {modelRef: Model/fast}\n  tools: [Tool/weather, Tool/nothing]\n"),
    WEATHER.replace("forecast", "fore__cast"),
    resource("Swarm", "s", "  entryAgent: Agent/a\n  agents: [Agent/a]\n"),
  ]);
  expect(told(bundle)).toEqual(["INVALID_NAME 24:13", "SCHEMA_INVALID 6:13", "REF_NOT_FOUND 15:25"]);
  expect(bundle).toMatchObject({ models: [], agents: [], swarms: [{ name: "s" }] });
});
