import type { ToolDefinition } from "@tessera/tool";
import { describe, expect, it } from "vitest";
import { LIBRARY, LIBRARY_OPTIONS, tool } from "../../test/openapi-documents.ts";
import { credentialGrants } from "./credential-grants.ts";
import { openApiTools } from "./document-tools.ts";

const definition = (options: unknown): ToolDefinition => ({
  tool_name: "t",
  description: "",
  parameters: {},
  target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.t.run",
  after_execution: "suspend",
  options: options as ToolDefinition["options"],
});
const OPERATION = { server: "https://a.example/v1", hosts: ["a.example", "b.example"], method: "GET", path: "/x" };

describe("a definition asks for", () => {
  it("each variable of its operation once, for its server's host and no other of its list", () => {
    const auth = [
      { header: "authorization", env: "A_TOKEN" },
      { header: "x-key", env: "A_KEY" },
      { header: "x-again", env: "A_KEY" },
    ];
    expect(credentialGrants(definition({ openapi: { ...OPERATION, auth } }))).toEqual([
      ["A_TOKEN", "a.example"],
      ["A_KEY", "a.example"],
    ]);
  });

  it("what a document's scheme became", () => {
    const books = tool(openApiTools(LIBRARY, LIBRARY_OPTIONS), "library__listBooks");
    expect(credentialGrants(books)).toEqual([["LIBRARY_CARD", "api.library.example"]]);
  });

  it.each([
    [{ jina: { mode: "search" } }, ["JINA_API_KEY", "s.jina.ai"]],
    [{ jina: { mode: "crawl", auth_env: "MY_JINA" } }, ["MY_JINA", "r.jina.ai"]],
    [{ openapi: { base_url: "https://r.jina.ai", auth: { env: "OLD_KEY" } } }, ["OLD_KEY", "r.jina.ai"]],
  ])("Jina's key for the host of its mode: %j", (options, expected) => {
    expect(credentialGrants(definition(options))).toEqual([expected]);
  });
});

describe("nothing is granted to", () => {
  it.each([
    ["a definition of another kind", {}],
    ["an operation without credentials", { openapi: OPERATION }],
    [
      "a server off its own list",
      { openapi: { ...OPERATION, hosts: ["b.example"], auth: [{ header: "a", env: "K" }] } },
    ],
    ["a variable that is none", { openapi: { ...OPERATION, auth: [{ header: "a", env: "K=1" }] } }],
    ["a Jina of a third host", { jina: { mode: "search", base_url: "https://evil.example" } }],
    ["a Jina without a mode", { jina: {} }],
    ["options that are null", null],
    ["settings of other types", { jina: 5, openapi: [] }],
  ])("%s", (_, options) => {
    expect(credentialGrants(definition(options))).toEqual([]);
  });
});
