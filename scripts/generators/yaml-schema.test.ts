// The JSON Schema of bundles, against the readers that decide: what they take it takes, and what an editor can know to be
// wrong it refuses.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readSwarmBundle } from "@tessera/agent";
import { isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { YAML_SECTIONS } from "./yaml-kinds.ts";
import { bundleSchema } from "./yaml-schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const check = new Ajv({ allErrors: true, strict: false }).compile(bundleSchema());

const refusals = (document: JsonValue): string[] => {
  check(document);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};
const documentsOf = (text: string) => parseAllDocuments(text).map((document) => document.toJS() as JsonValue);
const mistakesOf = async (documents: readonly JsonValue[]): Promise<string[]> => {
  const text = documents.map((document) => JSON.stringify(document)).join("\n---\n");
  const bundle = await readSwarmBundle([{ path: "tessera.yaml", text }], {
    builtins: ["bash__exec"],
    isEnvSet: () => true,
  });
  return bundle.mistakes.map(({ message }) => message);
};

/** Every field of every kind, so that each of them is damaged once. */
const RICH = `apiVersion: tessera/v1
kind: Package
metadata: { name: "@example/rich", labels: { a: b }, annotations: { c: d } }
spec:
  version: 1.0.0
  description: All of it.
  access: restricted
  dependencies: [{ name: "@tessera/base", version: "1" }]
  registry: { url: "https://registry.example" }
---
apiVersion: goondan.ai/v1
kind: Model
metadata: { name: clever }
spec:
  provider: mine
  model: big
  apiKey: { valueFrom: { secretRef: { ref: Secret/keys, key: big } } }
  endpoint: https://models.example/v1
  options: { timeout: 5 }
  capabilities: { streaming: true }
---
apiVersion: tessera/v1
kind: Model
metadata: { name: other }
spec: { provider: openai, model: gpt, apiKey: { valueFrom: { env: OTHER_KEY } } }
---
apiVersion: tessera/v1
kind: Tool
metadata: { name: weather }
spec:
  entry: ./tools/weather.ts
  placement: service
  target: sky
  errorMessageLimit: 500
  options: { jina: { mode: search }, reconcile: true }
  args: { defaults: { unit: c } }
  envs: { token: WEATHER_TOKEN }
  exports:
    - name: forecast
      description: The weather
      effect: read
      timeoutMs: 10000
      queueTimeoutMs: 5000
      retry: { max_attempts: 5, backoff: 500 }
      delegationPolicy: { operations: [send], targetTags: [a], targetProfiles: [guide] }
      afterExecution: suspend
      reconcile: true
      parameters: { type: object, properties: { unit: { type: string }, token: { type: string } } }
    - name: history
      options: { effect: read, retry: { maxAttempts: 2, backoffMs: 5 }, timeoutMs: 100 }
      args: { fixed: { unit: f } }
      envs: {}
---
apiVersion: tessera/v1
kind: Tool
metadata: { name: pets }
spec:
  placement: edge
  target: zoo
  timeoutMs: 1000
  queueTimeoutMs: 1000
  openapi:
    document: ./openapi.yaml
    hosts: [api.example.org]
    operations: [listPets, { tag: pets }, { method: GET, path: /pets }]
    auth: { token: PETS_TOKEN }
    baseUrl: https://api.example.org/v1
---
apiVersion: tessera/v1
kind: Extension
metadata: { name: guard }
spec: { entry: ./guard.ts, config: { strict: true }, onError: skip }
---
apiVersion: tessera/v1
kind: Agent
metadata: { name: guide }
spec:
  modelConfig: { modelRef: { kind: Model, name: clever, apiVersion: tessera/v1 }, params: { temperature: 0.2 } }
  prompt: { system: You help people pack. }
  tools: [Tool/weather, { ref: Tool/pets }, { ref: { kind: Tool, name: bash, package: "@tessera/base" } }]
  requiredTools: [weather, { ref: Tool/weather__forecast }]
  extensions:
    - { ref: Extension/guard, config: { strict: false } }
    - { kind: Extension, name: message-window, package: "@goondan/base" }
  description: Packs.
  workerTarget: worker_gpu
  tags: [a, b]
  allowedInternalTools: [submit_result, fork_join]
  mustEndWith: [submit_result]
  delegationPolicy: { targetTags: [a], targetProfiles: [guide] }
  toolDelegationPolicy: { operations: [request], targetTags: [a], targetProfiles: [guide] }
  maxSteps: 20
  memory: { turns: 20, characters: 1000 }
  toolCalls: sequential
---
apiVersion: tessera/v1
kind: Agent
metadata: { name: second }
spec: { modelConfig: { modelRef: Model/other }, prompt: { system: Hm. }, tags: "a, b" }
---
apiVersion: tessera/v1
kind: Swarm
metadata: { name: travel }
spec:
  entryAgent: Agent/guide
  agents: [{ ref: Agent/guide }, Agent/second]
  instanceKey: user:1
  policy:
    maxStepsPerTurn: 24
    lifecycle: { ttlSeconds: 60, gcGraceSeconds: 60 }
    shutdown: { gracePeriodSeconds: 30 }
  toolDelegationPolicy: { operations: [spawn] }
`;

describe("the schema of bundles", () => {
  const sources = [
    ...yamlFiles("packages/cli/templates"),
    ...yamlFiles("examples"),
    ...readdirSync(join(ROOT, "docs/guides")).map((file) => ({ file, text: blocksOf(join("docs/guides", file)) })),
    { file: "docs/reference/yaml.md", text: YAML_SECTIONS.map(({ example = "" }) => example).join("---\n") },
    { file: "every field", text: RICH },
  ];

  it.each(sources)("takes every resource of $file", ({ text }) => {
    const resources = documentsOf(text).filter((each) => isResource(each) && !hasWrittenKey(each));
    expect(resources.map((each) => ({ [nameOf(each)]: refusals(each) }))).toEqual(
      resources.map((each) => ({ [nameOf(each)]: [] })),
    );
  });

  it("is shown resources of every kind by those", () => {
    const all = sources.flatMap(({ text }) => documentsOf(text)).map(nameOf);
    expect(all.filter((name) => !name.startsWith("undefined")).length).toBeGreaterThan(60);
  });

  it("knows every field of the table: none of them is only in the reference", () => {
    const schema = JSON.stringify(bundleSchema());
    const fields = YAML_SECTIONS.filter(({ kind }) => kind !== undefined).flatMap(({ mappings }) => mappings);
    const missing = fields.flatMap((mapping) => mapping.fields).filter(([name]) => !schema.includes(`"${name}":`));
    expect(missing).toEqual([]);
  });

  it.each([
    ["a field that there is not", "Agent", (spec: JsonObject) => ({ ...spec, maxStep: 1 })],
    ["a field with a typo, deep down", "Swarm", (spec: JsonObject) => ({ ...spec, policy: { maxSteps: 3 } })],
    ["a missing field", "Swarm", ({ agents }: JsonObject) => ({ agents: agents ?? null })],
    ["a reference of another kind", "Swarm", (spec: JsonObject) => ({ ...spec, entryAgent: "Model/clever" })],
    ["a reference without its kind", "Swarm", (spec: JsonObject) => ({ ...spec, agents: ["guide"] })],
    ["a provider without endpoint", "Model", () => ({ provider: "mine", model: "x" })],
    ["a model without its name", "Model", () => ({ provider: "openai" })],
    ["a key that is written out", "Model", (spec: JsonObject) => ({ ...spec, apiKey: { value: "sk-1" } })],
    ["a number out of its range", "Agent", (spec: JsonObject) => ({ ...spec, maxSteps: 0 })],
    ["a word that is no choice", "Extension", (spec: JsonObject) => ({ ...spec, onError: "ignore" })],
    ["an absolute path", "Extension", (spec: JsonObject) => ({ ...spec, entry: "/etc/passwd" })],
    [
      "an internal tool that there is not",
      "Agent",
      (spec: JsonObject) => ({ ...spec, allowedInternalTools: ["fork"] }),
    ],
    ["a tool without exports", "Tool", () => ({ entry: "./a.ts" })],
    ["an export with a typo", "Tool", () => ({ exports: [{ name: "a", efect: "read" }] })],
    [
      "code beside the document of an API",
      "Tool",
      (spec: JsonObject) => ({ openapi: { document: "./a.yaml", hosts: ["a.b"] }, ...spec }),
    ],
    ["no spec", "Agent", () => undefined],
  ] as const)("refuses %s, as the readers do", async (_what, kind, damage) => {
    const rich = documentsOf(RICH);
    const at = rich.findIndex((each) => isJsonObject(each) && each.kind === kind);
    const whole = rich[at] as JsonObject;
    const damaged = JSON.parse(JSON.stringify({ ...whole, spec: damage(whole.spec as JsonObject) })) as JsonObject;
    expect(refusals(damaged)).not.toEqual([]);
    expect(await mistakesOf(rich.with(at, damaged))).not.toEqual([]);
  });

  it.each([
    ["an unknown kind", { apiVersion: "tessera/v1", kind: "Agnt", metadata: { name: "a" }, spec: {} }],
    [
      "an unknown version",
      { apiVersion: "tessera/v2", kind: "Extension", metadata: { name: "a" }, spec: { entry: "a" } },
    ],
    [
      "a name in capitals",
      { apiVersion: "tessera/v1", kind: "Extension", metadata: { name: "A" }, spec: { entry: "a" } },
    ],
    ["no name", { apiVersion: "tessera/v1", kind: "Extension", metadata: {}, spec: { entry: "a" } }],
    [
      "a field beside spec",
      { apiVersion: "tessera/v1", kind: "Extension", metadata: { name: "a" }, spec: { entry: "a" }, x: 1 },
    ],
  ])("refuses %s, as the readers do", async (_what, document) => {
    expect(refusals(document)).not.toEqual([]);
    expect(await mistakesOf([document])).not.toEqual([]);
  });

  it("refuses no setting that there is, and one that there is not", () => {
    const bundle = (settings: JsonObject) => ({
      ...{ apiVersion: "tessera/v1", kind: "Package", metadata: { name: "p" } },
      spec: { settings },
    });
    expect(refusals(bundle({ port: 8100, builtins: ["wait"], data: "./store" }))).toEqual([]);
    expect(refusals(bundle({ prot: 1 }))).not.toEqual([]);
  });

  it("refuses nothing that the readers take, whatever part of a bundle is changed, removed or added", async () => {
    const rich = documentsOf(RICH);
    expect(await mistakesOf(rich)).toEqual([]);
    const wrong: string[] = [];
    let refusedCount = 0;
    const choices = YAML_SECTIONS.flatMap(({ mappings }) => mappings)
      .flatMap(({ fields }) => fields)
      .filter(([, { schema }]) => schema !== false && "enum" in schema)
      .map(([name]) => name);
    const emptyChoice = new RegExp(`with an empty (?:${choices.join("|")})$`); // yaml-types.ts T1
    for (const [at, whole] of rich.entries()) {
      for (const { what, value } of variantsOf(whole).slice(REPLACEMENTS.length)) {
        if (refusals(value).length === 0) continue;
        refusedCount += 1;
        if (emptyChoice.test(what) || (await mistakesOf(rich.with(at, value))).length > 0) continue;
        wrong.push(`${nameOf(whole)} ${what}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(refusedCount).toBeGreaterThan(500);
  }, 120_000);
});

interface Variant {
  readonly what: string;
  readonly value: JsonValue;
}

const REPLACEMENTS: readonly JsonValue[] = [0.5, "a b\nc", "Agent/x", true, [1], { x: 1 }];

/** Each part of the value replaced by others, left out, and with a field more. */
function variantsOf(value: JsonValue, pointer = ""): Variant[] {
  const own: Variant[] = REPLACEMENTS.map((other) => ({ what: `${pointer} = ${JSON.stringify(other)}`, value: other }));
  if (Array.isArray(value)) {
    const inside = value.flatMap((item, at) =>
      variantsOf(item, `${pointer}/${at}`).map(({ what, value: other }) => ({ what, value: value.with(at, other) })),
    );
    return [...own, ...inside];
  }
  if (!isJsonObject(value)) return own;
  const inside = Object.entries(value).flatMap(([key, item]): Variant[] => {
    const { [key]: _, ...rest } = value;
    const changed = variantsOf(item, `${pointer}/${key}`);
    return [
      { what: `${pointer} without ${key}`, value: rest },
      { what: `${pointer} with an empty ${key}`, value: { ...value, [key]: null } },
      ...changed.map(({ what, value: other }) => ({ what, value: { ...value, [key]: other } })),
    ];
  });
  return [...own, { what: `${pointer} and another`, value: { ...value, another: 1 } }, ...inside];
}

function isResource(document: JsonValue): document is JsonObject {
  return isJsonObject(document) && "apiVersion" in document;
}

/** A guide shows what is said about it. */
function hasWrittenKey({ spec }: JsonObject): boolean {
  return isJsonObject(spec) && typeof spec.apiKey === "string";
}

function nameOf(document: JsonValue): string {
  const { kind, metadata } = (document ?? {}) as { kind?: string; metadata?: { name?: string } };
  return `${kind}/${metadata?.name}`;
}

function yamlFiles(folder: string): { file: string; text: string }[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.ya?ml$/.test(name) && !/(?:^|\/)(?:node_modules|\.[^/]+)\//.test(name))
    .map((name) => ({ file: join(folder, name), text: readFileSync(join(ROOT, folder, name), "utf8") }));
}

function blocksOf(file: string): string {
  const blocks = readFileSync(join(ROOT, file), "utf8").matchAll(/^```yaml.*\n([\s\S]*?)^```/gm);
  return [...blocks].map(([, text]) => text).join("---\n");
}
