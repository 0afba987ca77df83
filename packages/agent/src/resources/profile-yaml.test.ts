// CommonGround profiles: what upstream's documents say becomes the same profile, and nothing else gets in.

import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { type ProfileUploadOptions, readProfileYaml } from "./profile-yaml.ts";

const HEAD = "name: Associate_Web\nworker_target: worker_generic\n";
const modelOf = (config: string, options: ProfileUploadOptions = {}) =>
  readProfileYaml(`${HEAD}llm_config: ${config}\n`, options).profile.model;

function refusalOf(text: string, options: ProfileUploadOptions = {}): TesseraError {
  try {
    readProfileYaml(text, options);
  } catch (error) {
    if (TesseraError.is(error)) return error;
    throw error;
  }
  throw new Error("the profile was taken");
}

describe("a CommonGround profile", () => {
  it("with every field becomes a profile with all of them", () => {
    const { profile, ignored } = readProfileYaml(
      `name: Principal_Planner
worker_target: worker_generic
type: principal
tags: "partner, planner ,"
description: Plans the work.
system_prompt_template: |
  You are {display_name}.
  {downstream_profiles_desc}
delegation_policy:
  target_tags: [associate]
  target_profiles: null
allowed_tools: [search, weather__forecast]
allowed_internal_tools: [delegate_async, submit_result]
must_end_with: [submit_result]
llm_config:
  model: gemini/gemini-2.5-pro
  temperature: 0.3
  max_tokens: 4000
  stream: true
  save_reasoning_content: true
memory: { characters: 5000 }
`,
      { file: "planner.yaml" },
    );
    expect(profile).toEqual({
      schema_version: 1,
      name: "Principal_Planner",
      description: "Plans the work.",
      worker_target: "worker_generic",
      tags: ["partner", "planner"],
      model: { provider: "google", model: "gemini-2.5-pro", params: { temperature: 0.3, max_tokens: 4000 } },
      system_prompt: "You are {display_name}.\n{downstream_profiles_desc}\n",
      allowed_tools: ["search", "weather__forecast"],
      allowed_internal_tools: ["delegate_async", "submit_result"],
      must_end_with: ["submit_result"],
      required_tools: [],
      delegation_policy: { target_tags: ["associate"], target_profiles: null },
      max_steps: 32,
      memory: { turns: 40, characters: 5_000 },
      extensions: [],
      swarm: null,
    });
    expect(ignored).toEqual(["/type"]);
  });

  it("with nothing but a name and a target has no tools, no rights and the default model", () => {
    expect(readProfileYaml(Buffer.from(HEAD)).profile).toMatchObject({
      tags: [],
      model: { provider: "openai", model: "gpt-3.5-turbo" },
      system_prompt: "",
      allowed_tools: [],
      allowed_internal_tools: [],
      delegation_policy: null,
    });
  });

  it("keeps apart every tool, no tool, every profile and no profile", () => {
    const facts = (text: string) => {
      const { allowed_tools, delegation_policy } = readProfileYaml(HEAD + text).profile;
      return [allowed_tools, delegation_policy?.target_profiles];
    };
    expect(facts("allowed_tools: null\ndelegation_policy: {target_profiles: []}\n")).toEqual([null, []]);
    expect(facts("allowed_tools: []\ndelegation_policy: {}\n")).toEqual([[], null]);
  });

  it("takes system_prompt where there is no template, and tags as a list", () => {
    const { profile } = readProfileYaml(`${HEAD}system_prompt: hi\ntags: [a, b, a]\n`);
    expect(profile).toMatchObject({ system_prompt: "hi", tags: ["a", "b"] });
    const both = readProfileYaml(`${HEAD}system_prompt: hi\nsystem_prompt_template: ho\n`);
    expect(both.profile.system_prompt).toBe("ho");
    expect(both.warnings).toHaveLength(1);
  });

  it.each([
    ["{model: gpt-4o}", { provider: "openai", model: "gpt-4o" }],
    ["{model: openai/gpt-4o}", { provider: "openai", model: "gpt-4o" }],
    ["{model: anthropic/claude-x}", { provider: "anthropic", model: "claude-x" }],
    ["{model: claude-x}", { provider: "anthropic", model: "claude-x" }],
    ["{model: gemini-2}", { provider: "google", model: "gemini-2" }],
    ["{model: constructor/x}", { provider: "openai", model: "constructor/x" }],
    ["{provider: google, model: gemini/x}", { provider: "google", model: "gemini/x" }],
    ["{provider: scripted, options: {rules: [{reply: {text: a}}]}}", { provider: "scripted", model: "scripted" }],
  ])("names the provider of %s", (config, named) => {
    expect(modelOf(config)).toMatchObject(named);
  });

  it("may name an address and the variable of a key only where the operator lets it", () => {
    const config = "{provider: acme, model: x, api_base: 'https://a.example/v1', apiKey: {valueFrom: {env: A_KEY}}}";
    const text = `${HEAD}llm_config: ${config}\n`;
    const { details } = refusalOf(text);
    expect(details.mistakes).toMatchObject([{ code: "schema_invalid" }, { code: "env_not_allowed" }]);
    const options = {
      isEndpointAllowed: (endpoint: string) => endpoint.startsWith("https://a.example/"),
      isKeyVariableAllowed: (name: string) => name === "A_KEY",
    };
    expect(modelOf(config, options)).toEqual({
      provider: "acme",
      model: "x",
      endpoint: "https://a.example/v1",
      apiKey: { valueFrom: { env: "A_KEY" } },
    });
  });

  it.each([
    ["a list", "- a\n", "root_must_be_mapping", "1:1"],
    ["no name", "worker_target: w\n", "schema_invalid", "1:1"],
    ["no target", "name: a\n", "schema_invalid", "1:1"],
    ["a target with a dot", "name: a\nworker_target: a.b\n", "schema_invalid", "2:16"],
    ["a name of two lines", 'name: "a\\nb"\nworker_target: w\n', "schema_invalid", "1:7"],
    ["tools in a mapping", `${HEAD}allowed_tools: {a: b}\n`, "schema_invalid", "3:16"],
    ["a tool that cannot be one", `${HEAD}allowed_tools: [a, a__b__c]\n`, "schema_invalid", "3:20"],
    ["an unknown internal tool", `${HEAD}allowed_internal_tools: [sudo]\n`, "schema_invalid", "3:25"],
    ["a policy of words", `${HEAD}delegation_policy: {target_tags: all}\n`, "schema_invalid", "3:34"],
    ["a key", `${HEAD}llm_config: {api_key: sk-secret}\n`, "schema_invalid", "3:14"],
    ["a key in the right place", `${HEAD}llm_config: {apiKey: sk-secret}\n`, "schema_invalid", "3:22"],
    [
      "a script with a hole",
      `${HEAD}llm_config:\n  provider: scripted\n  options: {rules: [{when: {}}]}\n`,
      "E_CONFIG_SCHEMA_INVALID",
      "5:21",
    ],
    ["an alias", `${HEAD}tags: &a [x]\ndescription: *a\n`, "aliases_not_allowed", "4:14"],
  ])("is refused with %s, at its place", (_title, text, code, place) => {
    const error = refusalOf(text, { file: "p.yaml" });
    expect([error.code, error.message.slice(0, `p.yaml:${place}: `.length)]).toEqual([code, `p.yaml:${place}: `]);
    expect(error.message).not.toContain("sk-secret");
  });
});
