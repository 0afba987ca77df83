// A whole bundle, from YAML and from code, to the profiles of its agents.

import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TesseraError } from "@tessera/protocol";
import { defineTool } from "@tessera/tool";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleFileReader } from "./bundle-path.ts";
import { BUILTINS, MODEL, read, resource, WEATHER } from "./bundle-text.fixture.ts";
import { defineAgent, defineModel, defineSwarm } from "./define.ts";
import { profilesOf } from "./profiles.ts";
import { readSwarmBundle } from "./swarm-bundle.ts";

const RULES = [{ when: { agent: "planner", step: 0 }, reply: { text: "{{input}}" } }];

const YAML = `apiVersion: tessera/v1
kind: Model
metadata: {name: fast, labels: {tier: a}}
spec:
  provider: scripted
  options: {rules: ${JSON.stringify(RULES)}}
---
apiVersion: tessera/v1
kind: Model
metadata: {name: big}
spec:
  provider: anthropic
  model: claude-x
  apiKey: {valueFrom: {env: MY_KEY}}
  endpoint: https://models.example/v1
  capabilities: {streaming: true, toolCalling: true}
---
apiVersion: tessera/v1
kind: Agent
metadata: {name: planner}
spec:
  description: Plans.
  modelConfig: {modelRef: Model/fast}
  prompt: {system: "You are {display_name}."}
  tools:
    - Tool/weather
    - ref: {kind: Tool, name: bash, package: "@tessera/base"}
  requiredTools: [{kind: Tool, name: weather__forecast}]
  allowedInternalTools: [fork_join, submit_result]
  mustEndWith: [submit_result]
  delegationPolicy: {targetTags: [research], targetProfiles: [researcher]}
---
apiVersion: tessera/v1
kind: Agent
metadata: {name: researcher}
spec:
  modelConfig:
    modelRef: {kind: Model, name: big, apiVersion: tessera/v1}
    params: {temperature: 0.2, maxTokens: 100}
  tags: [research]
  workerTarget: worker_gpu
  maxSteps: 4
  memory: {turns: 0}
  toolCalls: sequential
  prompt: {system: ""}
---
apiVersion: tessera/v1
kind: Swarm
metadata: {name: team}
spec:
  entryAgent: Agent/planner
  agents: [Agent/planner, {ref: Agent/researcher}]
  policy: {maxStepsPerTurn: 12, shutdown: {gracePeriodSeconds: 30}}
`;

const weather = defineTool({ name: "weather__forecast", handler: () => ({}) });
const alerts = defineTool({ name: "weather__alerts", handler: () => ({}) });

function config() {
  const fast = defineModel({ name: "fast", provider: "scripted", options: { rules: RULES } });
  const big = defineModel({
    name: "big",
    provider: "anthropic",
    model: "claude-x",
    apiKey: { valueFrom: { env: "MY_KEY" } },
    endpoint: "https://models.example/v1",
    capabilities: { streaming: true, toolCalling: true },
  });
  const researcher = defineAgent({
    name: "researcher",
    model: big,
    params: { temperature: 0.2, maxTokens: 100 },
    tags: ["research"],
    workerTarget: "worker_gpu",
    maxSteps: 4,
    memory: { turns: 0 },
    toolCalls: "sequential",
    system: "",
  });
  const planner = defineAgent({
    name: "planner",
    description: "Plans.",
    model: "fast",
    system: "You are {display_name}.",
    tools: ["weather", { name: "bash", package: "@tessera/base" }],
    requiredTools: ["weather__forecast"],
    allowedInternalTools: ["fork_join", "submit_result"],
    mustEndWith: ["submit_result"],
    delegationPolicy: { targetTags: ["research"], targetProfiles: [researcher] },
  });
  const team = defineSwarm({
    name: "team",
    entryAgent: planner,
    agents: [planner, "researcher"],
    policy: { maxStepsPerTurn: 12, shutdown: { gracePeriodSeconds: 30 } },
  });
  return { tools: [weather, alerts], models: [fast, big], agents: [planner, researcher], swarms: [team] };
}

const fromCode = (exported: unknown) =>
  read([], { config: { file: "tessera.config.ts", exports: { default: exported } } });

describe("a bundle", () => {
  it("takes required tools by name, of whatever package, and a resource for all that the agent has of it", async () => {
    const requiring = (required: string) =>
      YAML.replace("requiredTools: [{kind: Tool, name: weather__forecast}]", `requiredTools: ${required}`);
    const required = async (list: string) => {
      const bundle = await read([requiring(list), WEATHER]);
      expect(bundle.mistakes).toEqual([]);
      return profilesOf(bundle)[0]?.required_tools;
    };
    expect(await required("[weather__forecast, bash__exec]")).toEqual(["weather__forecast", "bash__exec"]);
    expect(await required("[bash]")).toEqual(["bash__exec", "bash__script"]);
  });

  it("written for Goondan is the same bundle: its name of the format and of the built-in package are taken, too", async () => {
    const goondan = (text: string) =>
      text.replaceAll("tessera/v1", "goondan.ai/v1").replaceAll("@tessera/", "@goondan/");
    expect(goondan(YAML)).toContain('package: "@goondan/base"');
    const bundle = await read([goondan(YAML), goondan(WEATHER)]);
    expect(bundle.mistakes).toEqual([]);
    expect(profilesOf(bundle)).toEqual(profilesOf(await read([YAML, WEATHER])));
  });

  it("gives a profile for each agent, with its model, tools, swarm and steps", async () => {
    const bundle = await read([YAML, WEATHER]);
    expect(bundle.mistakes).toEqual([]);
    expect(bundle.warnings).toEqual([]);
    const [planner, researcher] = profilesOf(bundle);
    const swarm = { name: "team", entry_agent: "planner", agents: ["planner", "researcher"] };
    expect(planner).toEqual({
      schema_version: 1,
      name: "planner",
      description: "Plans.",
      worker_target: "worker_generic",
      tags: [],
      model: { provider: "scripted", model: "fast", options: { rules: RULES } },
      system_prompt: "You are {display_name}.",
      allowed_tools: ["weather__forecast", "weather__alerts", "bash__exec", "bash__script"],
      allowed_internal_tools: ["fork_join", "submit_result"],
      must_end_with: ["submit_result"],
      required_tools: ["weather__forecast"],
      delegation_policy: { target_tags: ["research"], target_profiles: ["researcher"] },
      max_steps: 12,
      extensions: [],
      swarm,
    });
    expect(researcher).toMatchObject({
      worker_target: "worker_gpu",
      tool_calls: "sequential",
      tags: ["research"],
      model: {
        provider: "anthropic",
        model: "claude-x",
        apiKey: { valueFrom: { env: "MY_KEY" } },
        endpoint: "https://models.example/v1",
        params: { temperature: 0.2, maxTokens: 100 },
      },
      allowed_tools: [],
      delegation_policy: null,
      max_steps: 4,
      memory: { turns: 0, characters: 200_000 },
      swarm,
    });
  });

  it("written in code gives the same profiles as in YAML", async () => {
    const code = await fromCode(config());
    expect(code.mistakes).toEqual([]);
    expect(profilesOf(code)).toEqual(profilesOf(await read([YAML, WEATHER])));
  });

  it("may be split between YAML and code, whose resources refer to one another", async () => {
    const { tools, agents, swarms } = config();
    const bundle = await read([YAML.split("---\n").slice(0, 2).join("---\n")], {
      config: { file: "tessera.config.ts", exports: { default: { tools, agents, swarms } } },
    });
    expect(profilesOf(bundle).map(({ name, model }) => [name, model.provider])).toEqual([
      ["planner", "scripted"],
      ["researcher", "anthropic"],
    ]);
  });

  it("with mistakes gives no profiles", async () => {
    const bundle = await read([YAML]);
    expect(() => profilesOf(bundle)).toThrow(expect.objectContaining({ code: "E_CONFIG_REF_NOT_FOUND" }));
  });

  it("takes the asked-for swarm for an agent of several, and no swarm for an agent of none", async () => {
    const agent = (name: string) => resource("Agent", name, "  modelConfig: {modelRef: Model/fast}\n");
    const swarm = (name: string, steps: number) =>
      resource("Swarm", name, `  entryAgent: Agent/a\n  agents: [Agent/a]\n  policy: {maxStepsPerTurn: ${steps}}\n`);
    const bundle = await read([MODEL, agent("a"), agent("b"), swarm("one", 1), swarm("two", 2)]);
    const facts = (swarmName?: string) =>
      profilesOf(bundle, swarmName === undefined ? {} : { swarm: swarmName }).map((each) => [
        each.swarm?.name,
        each.max_steps,
      ]);
    expect(facts()).toEqual([
      ["one", 1],
      [undefined, 32],
    ]);
    expect(facts("two")[0]).toEqual(["two", 2]);
  });

  it("gives extensions with their configuration and what the agent lays over it", async () => {
    const spec =
      "  modelConfig: {modelRef: Model/fast}\n  extensions:\n    - {ref: Extension/log, config: {more: [1]}}\n" +
      "    - Extension/sees\n    - Extension/sees\n";
    const builtin =
      "    - {ref: {kind: Extension, name: message-window, package: '@tessera/base'}, config: {maxMessages: 3}}\n";
    const bundle = await read([
      MODEL,
      resource("Agent", "a", spec + builtin),
      resource("Extension", "log", "  entry: ./log.ts\n  config: {level: debug}\n"),
      resource("Extension", "sees", "  entry: ./sees.ts\n  onError: skip\n"),
    ]);
    expect(bundle.mistakes).toEqual([]);
    expect(profilesOf(bundle)[0]?.extensions).toEqual([
      { name: "log", config: { level: "debug", more: [1] } },
      { name: "sees", config: null, on_error: "skip" },
      { name: "message-window", package: "@tessera/base", config: { maxMessages: 3 } },
    ]);
    expect(bundle.extensions).toMatchObject([{ name: "log", entry: "./log.ts" }, { onError: "skip" }]);
  });

  it("warns of what it does not obey, and loads the rest", async () => {
    const { mistakes, warnings, models, packageDoc } = await read([
      resource("Package", "'@me/pack'", "  version: 1.2.3\n  dependencies: [{name: '@me/other', version: '1'}]\n"),
      resource("Connector", "web", "  entry: ./a.ts\n"),
      resource("Connection", "web"),
      MODEL,
      resource(
        "Agent",
        "a",
        "  modelConfig: {modelRef: {kind: Model, name: fast, package: '@me/pack'}}\n  allowedInternalTools: [ask_expert]\n",
      ),
    ]);
    expect(mistakes).toEqual([]);
    expect(models).toHaveLength(1);
    expect(packageDoc).toMatchObject({ name: "@me/pack", version: "1.2.3", access: "public" });
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^goondan\.yaml:7:\d+: .*@me\/other.* not installed/),
      expect.stringMatching(/^goondan\.yaml:9:1: Connector\/web is not supported/),
      expect.stringMatching(/^goondan\.yaml:16:1: Connection\/web is not supported/),
      expect.stringMatching(/^goondan\.yaml:35:3: ask_expert .*denied/),
      expect.stringMatching(/^goondan\.yaml:33:1: the agent has no prompt/),
    ]);
  });

  it("warns of an agent without a prompt, unless it is written so, an extension may bring one, or a script is the model", async () => {
    const warned = async (agent: string, model = MODEL) => {
      const text = resource("Agent", "a", `  modelConfig: {modelRef: Model/fast}\n${agent}`);
      const { mistakes, warnings } = await read([model, text, resource("Extension", "e", "  entry: ./e.ts\n")]);
      expect(mistakes).toEqual([]);
      return warnings.map(({ message }) => message);
    };
    const said = [expect.stringMatching(/^goondan\.yaml:1\d:\d+: the agent has no prompt \(prompt\.system or/)];
    expect(await warned("")).toEqual(said);
    expect(await warned("  prompt: {}\n")).toEqual(said);
    expect(await warned('  prompt: {system: ""}\n')).toEqual([]);
    expect(await warned("  extensions: [Extension/e]\n")).toEqual([]);
    const script = resource("Model", "fast", "  provider: scripted\n  options: {rules: [{reply: {text: hi}}]}\n");
    expect(await warned("", script)).toEqual([]);
  });

  it("reads a secretRef from the variable that is set, and says which one is not", async () => {
    const text = resource(
      "Model",
      "m",
      "  provider: openai\n  model: x\n  apiKey: {valueFrom: {secretRef: {ref: Secret/my-ai, key: apiKey}}}\n",
    );
    const keyOf = async (set: string) => {
      const bundle = await read([text], { isEnvSet: (name) => name === set });
      return [bundle.models[0]?.spec.apiKey, bundle.warnings.length];
    };
    expect(await keyOf("SECRET_MY_AI_APIKEY")).toEqual([{ valueFrom: { env: "SECRET_MY_AI_APIKEY" } }, 0]);
    expect(await keyOf("GOONDAN_SECRET_my_ai_apiKey")).toEqual([
      { valueFrom: { env: "GOONDAN_SECRET_my_ai_apiKey" } },
      0,
    ]);
    expect(await keyOf("OTHER")).toEqual([{ valueFrom: { env: "GOONDAN_SECRET_MY_AI_APIKEY" } }, 1]);
  });

  it("says that the variable of a provider's key is not set where a Model names none", async () => {
    const warned = async (spec: string, ...set: string[]) => {
      const bundle = await read([resource("Model", "m", spec)], { isEnvSet: (name) => set.includes(name) });
      return bundle.warnings.map(({ message }) => message.replace(/^.*: /, ""));
    };
    const anthropic = "  provider: anthropic\n  model: x\n";
    expect(await warned(anthropic)).toEqual(["the environment variable ANTHROPIC_API_KEY is not set"]);
    expect(await warned(anthropic, "ANTHROPIC_API_KEY")).toEqual([]);
    expect(await warned("  provider: own\n  model: x\n  endpoint: http://127.0.0.1:1/v1\n")).toEqual([]);
    expect(await warned("  provider: scripted\n  options: {rules: [{reply: {text: hi}}]}\n")).toEqual([]);
  });

  it("stands for a whole API until the operations of its document are known", async () => {
    const api = resource("Tool", "pets", "  openapi: {document: ./pets.yaml, hosts: [pets.example]}\n");
    const agent = resource("Agent", "a", "  modelConfig: {modelRef: Model/fast}\n  tools: [Tool/pets]\n");
    const toolsOf = async (toolNames: string[]) =>
      profilesOf(
        await readSwarmBundle([{ path: "a.yaml", text: [MODEL, api, agent].join("---\n") }], {
          builtins: BUILTINS,
          toolNames,
        }),
      )[0]?.allowed_tools;
    expect(await toolsOf([])).toEqual(["pets"]);
    expect(await toolsOf(["pets__list", "pets__get"])).toEqual(["pets__list", "pets__get"]);
  });
});

describe("a config in code", () => {
  it("is frozen through and through", () => {
    const { spec } = defineAgent({ name: "a", model: "m", delegationPolicy: { targetTags: ["x"] } });
    expect(() => Object.assign(spec, { tools: [] })).toThrow(TypeError);
    expect(() => (spec.delegationPolicy as { targetTags: string[] }).targetTags.push("y")).toThrow(TypeError);
  });

  it("reports every mistake with the resource and the field", async () => {
    const bundle = await fromCode({
      models: [
        defineModel({ name: "m", provider: "acme", model: "x" }),
        { kind: "Model" },
        defineModel({ name: "M", provider: "openai", model: "x" }),
      ],
      agents: [defineAgent({ name: "a", model: "nothing", maxSteps: -1, tools: [weather] })],
      swarms: {},
    });
    expect(bundle.mistakes.map(({ message }) => message)).toEqual([
      expect.stringContaining("models[1] was not made by defineModel"),
      expect.stringContaining("models[2] must have a name of lower-case letters"),
      expect.stringContaining("swarms must be a list"),
      expect.stringContaining("Model/m/spec/provider: provider must be one of"),
      expect.stringContaining("Agent/a/spec/modelConfig/modelRef: there is no Model"),
      expect.stringContaining("Agent/a/spec/tools/0: there is no Tool"),
      expect.stringContaining("Agent/a/spec/maxSteps: maxSteps must be"),
    ]);
    for (const { message } of bundle.mistakes) expect(message).toMatch(/^tessera\.config\.ts:1:1: /);
  });

  it("without a default export, or with a name that YAML has, too, is a mistake", async () => {
    expect((await read([], { config: { file: "c.ts", exports: {} } })).mistakes).toMatchObject([{ file: "c.ts" }]);
    const models = [defineModel({ name: "fast", provider: "openai", model: "x" })];
    const both = await read([MODEL], { config: { file: "c.ts", exports: { default: { models } } } });
    expect(both.mistakes).toMatchObject([
      { code: "E_CONFIG_DUPLICATE_NAME", message: expect.stringContaining("goondan.yaml:1:1") },
    ]);
  });

  it("refuses what is no JSON where it is written", () => {
    const options = { at: new Date(0) };
    expect(() => defineModel({ name: "m", provider: "openai", model: "x", options })).toThrow(TesseraError);
    expect(() => defineModel({ provider: "openai" } as never)).toThrow(
      expect.objectContaining({ code: "invalid_name" }),
    );
  });
});

describe("a prompt in a file", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "bundle-"));
  });
  afterEach(() => rm(root, { recursive: true }));

  const promptOf = async (path: string) => {
    const spec = `  modelConfig: {modelRef: Model/fast}\n  prompt: {systemRef: ${path}}\n`;
    const bundle = await read([MODEL, resource("Agent", "a", spec)], { readFile: bundleFileReader(root) });
    return bundle.agents[0]?.system_prompt ?? bundle.mistakes.map(({ code }) => code);
  };

  it("is read from the bundle, and from nowhere else", async () => {
    await writeFile(join(root, "p.md"), "\ufeffBe kind.\n");
    expect(await promptOf("./p.md")).toBe("Be kind.\n");
    const outside = await mkdtemp(join(tmpdir(), "outside-"));
    await writeFile(join(outside, "secret"), "x");
    await symlink(join(outside, "secret"), join(root, "link.md"));
    expect(await promptOf("./link.md")).toEqual(["E_CONFIG_REF_NOT_FOUND"]);
    expect(await promptOf("./missing.md")).toEqual(["E_CONFIG_REF_NOT_FOUND"]);
    expect(await promptOf("./.")).toEqual(["E_CONFIG_SCHEMA_INVALID"]);
    await rm(outside, { recursive: true });
  });

  it("is refused when it is too large or no text", async () => {
    await writeFile(join(root, "large.md"), "x".repeat(256 * 1024 + 1));
    await writeFile(join(root, "bytes.md"), Buffer.from([0xff, 0xfe]));
    await writeFile(join(root, "nul.md"), "a\0b");
    expect(await promptOf("./large.md")).toEqual(["E_CONFIG_FILE_TOO_LARGE"]);
    expect(await promptOf("./bytes.md")).toEqual(["E_CONFIG_SCHEMA_INVALID"]);
    expect(await promptOf("./nul.md")).toEqual(["E_CONFIG_SCHEMA_INVALID"]);
  });
});
