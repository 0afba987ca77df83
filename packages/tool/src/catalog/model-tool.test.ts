import { expect, it } from "vitest";
import type { ToolDefinition } from "../definition.ts";
import { modelParameters, modelTool } from "./model-tool.ts";

const definition: ToolDefinition = {
  tool_name: "search",
  description: "Searches.",
  parameters: {
    type: "object",
    properties: {
      query: { type: "string" },
      limit: { type: "integer" },
      session_id: { type: "string" },
      project_id: { type: "string" },
      api_key: { type: "string" },
    },
    required: ["query", "session_id", "project_id", "api_key"],
    additionalProperties: false,
  },
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.run",
  after_execution: "suspend",
  options: {
    args: { defaults: { limit: 5, session_id: "{agent_turn_id}" }, fixed: { project_id: "{project_id}" } },
    envs: { api_key: "SEARCH_API_KEY" },
  },
};

it("the model sees defaults, and neither fixed nor environment arguments", () => {
  expect(modelTool(definition)).toEqual({
    name: "search",
    description: "Searches.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string" },
        limit: { type: "integer", default: 5 },
        session_id: { type: "string" },
      },
      required: ["query"],
      additionalProperties: false,
    },
  });
});

it("the definition is not changed", () => {
  const text = JSON.stringify(definition);
  const shown = modelParameters(definition);
  expect(JSON.stringify(definition)).toBe(text);
  (shown.properties as { query: { type: string } }).query.type = "changed";
  expect(JSON.stringify(definition)).toBe(text);
});

it("parameters that accept anything are shown as an object", () => {
  expect(modelParameters({ ...definition, parameters: {}, options: {} })).toEqual({ type: "object" });
});

it("required disappears with its last name", () => {
  const parameters = { type: "object", properties: { api_key: {} }, required: ["api_key"] };
  expect(modelParameters({ ...definition, parameters })).toEqual({ type: "object", properties: {} });
});
