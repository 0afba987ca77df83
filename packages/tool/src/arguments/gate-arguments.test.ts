import { ARGUMENTS_BYTES_MAX, type JsonObject, type JsonValue, TesseraError } from "@tessera/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ToolDefinition, ToolOptions } from "../definition.ts";
import { completeArguments, gateArguments } from "./gate-arguments.ts";

const vars = { project_id: "p1", channel_id: "public", agent_id: "a1", agent_turn_id: "turn_1", step_id: null };

function tool(parameters: JsonObject, options: ToolOptions = {}): ToolDefinition {
  return {
    tool_name: "search",
    description: "Searches.",
    parameters,
    target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.run",
    after_execution: "suspend",
    options,
  };
}

const search = tool(
  {
    type: "object",
    properties: {
      query: { type: "string", minLength: 1 },
      limit: { type: ["integer", "null"], default: 10 },
      session_id: { type: "string" },
      api_key: { type: "string", minLength: 8 },
    },
    required: ["query", "api_key"],
    additionalProperties: false,
  },
  {
    args: { defaults: { session_id: "{agent_turn_id}" }, fixed: { owner: "{project_id}", lost: "{step_id}" } },
    envs: { api_key: "SEARCH_API_KEY" },
  },
);

function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    expect(error.code).toBe("bad_request");
    expect(error.details.code).toBe("E_TOOL_INVALID_ARGS");
    expect(error.details.suggestion).toMatch(/^Send one JSON object/);
    return error.message;
  }
  return "accepted";
}

describe("the agent's end", () => {
  it("fills in defaults and fixed values and records names only", () => {
    expect(gateArguments(search, { query: "q" }, vars)).toEqual({
      arguments: { query: "q", session_id: "turn_1", limit: 10, owner: "p1" },
      metadata: {
        tool_args_defaults_applied: ["session_id", "limit"],
        tool_args_fixed_applied: ["owner"],
        tool_args_envs: { api_key: "SEARCH_API_KEY" },
      },
    });
  });

  it("an explicit null where a default exists is kept", () => {
    expect(gateArguments(search, { query: "q", limit: null }, vars).arguments.limit).toBeNull();
  });

  it("what the model sets for fixed and environment arguments is overwritten and dropped", () => {
    const { arguments: args, metadata } = gateArguments(
      search,
      { query: "q", owner: "p2", lost: "mine", api_key: "stolen-key" },
      vars,
    );
    expect(args).toEqual({ query: "q", session_id: "turn_1", limit: 10, owner: "p1" });
    expect(metadata.tool_args_fixed_applied).toEqual(["owner"]);
  });

  it.each<[string, unknown, string]>([
    ["a missing argument", {}, '"query" is required'],
    ["an extra argument", { query: "q", more: 1 }, '"more" is not allowed'],
    ["a wrong type", { query: 1 }, "/query must be of type string; found 1"],
    ["a number beyond 2^53", { query: "q", limit: 2 ** 53 }, "does not survive JSON"],
    ["no number", { query: "q", limit: Number.NaN }, "does not survive JSON"],
    ["infinity", { query: "q", limit: Number.POSITIVE_INFINITY }, "does not survive JSON"],
    ["the text NaN", { query: "q", limit: "NaN" }, "/limit must be of type integer or null"],
    ["more than 256 KiB", { query: "q".repeat(ARGUMENTS_BYTES_MAX) }, "larger than"],
    ["JSON in a string", '{"query":"q"}', "must be one JSON object"],
    ["a list", [], "must be one JSON object"],
    ["null", null, "must be one JSON object"],
    ["a key that poisons prototypes", JSON.parse('{"query":"q","__proto__":{"x":1}}'), "__proto__ is not allowed"],
    ["a date", { query: new Date(0) }, "not a plain object"],
  ])("%s is refused", (_, given, message) => {
    expect(refusalOf(() => gateArguments(search, given, vars))).toContain(message);
  });

  it("the suggestion names what the model may send, and nothing hidden", () => {
    try {
      gateArguments(search, {}, vars);
      expect.fail("was accepted");
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      expect(error.details.suggestion).toBe(
        "Send one JSON object. Required: query. Allowed: query, limit, session_id.",
      );
    }
  });

  it("-0 becomes 0", () => {
    const args = gateArguments(search, { query: "q", limit: -0 }, vars).arguments;
    expect(Object.is(args.limit, 0)).toBe(true);
  });

  it("arguments that grow beyond the limit by what the definition adds are refused", () => {
    const query = "q".repeat(ARGUMENTS_BYTES_MAX - 20);
    expect(refusalOf(() => gateArguments(tool({}), { query }, vars))).toBe("accepted");
    const long = tool({}, { args: { fixed: { more: "x".repeat(100) } } });
    expect(refusalOf(() => gateArguments(long, { query }, vars))).toContain("larger than");
  });

  it("{} and an object without properties accept any object", () => {
    expect(gateArguments(tool({}), { x: [1] }, vars).arguments).toEqual({ x: [1] });
    expect(gateArguments(tool({ type: "object" }), { x: [1] }, vars).arguments).toEqual({ x: [1] });
  });

  it("a condition on an environment argument counts it as there", () => {
    const definition = tool(
      { type: "object", anyOf: [{ required: ["key"] }, { required: ["never"] }] },
      { envs: { key: "A_KEY" } },
    );
    expect(gateArguments(definition, {}, vars).arguments).toEqual({});
  });
});

describe("the executor's end", () => {
  const card = { query: "q", limit: 10, owner: "p1" };

  it("adds the environment's values, which win, and gives ordinary objects", () => {
    const input = completeArguments(search, { ...card, api_key: "from the card" }, { api_key: "from-the-env" });
    expect(input).toEqual({ ...card, api_key: "from-the-env" });
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
  });

  it("refuses when a value is missing or does not fit, and never says it", () => {
    expect(refusalOf(() => completeArguments(search, card, {}))).toContain('"api_key" is required');
    const refusal = refusalOf(() => completeArguments(search, card, { api_key: "s3cret" }));
    expect(refusal).toContain("an argument that the executor provides does not fit");
    expect(refusal).not.toContain("s3cret");
  });

  it("never says a value whose argument has a name that needs escapes", () => {
    const odd = tool(
      { type: "object", properties: { "a/b~c": { type: "string", maxLength: 2 } } },
      { envs: { "a/b~c": "ODD" } },
    );
    const refusal = refusalOf(() => completeArguments(odd, {}, { "a/b~c": "s3cret" }));
    expect(refusal).toContain("an argument that the executor provides does not fit");
    expect(refusal).not.toContain("s3cret");
  });

  it("checks the card's arguments again", () => {
    expect(refusalOf(() => completeArguments(search, { query: 1 }, { api_key: "from-the-env" }))).toContain("/query");
  });
});

describe("for any arguments", () => {
  const names = fc.constantFrom(
    "query",
    "limit",
    "session_id",
    "owner",
    "lost",
    "api_key",
    "toString",
    "__proto__",
    "x",
  );
  const given = fc.oneof(fc.dictionary(names, fc.jsonValue()), fc.jsonValue(), fc.anything());

  it("the gate answers or refuses, and changes nothing", () => {
    fc.assert(
      fc.property(given, (value) => {
        const before = safeText(value);
        const definitionBefore = JSON.stringify(search);
        refusalOf(() => gateArguments(search, value, vars));
        expect(safeText(value)).toBe(before);
        expect(JSON.stringify(search)).toBe(definitionBefore);
      }),
      { numRuns: 500 },
    );
  });

  it("fixed wins, defaults wait, environment arguments stay out, and the gate may be passed again", () => {
    const open = tool(
      { type: "object", properties: { d: {}, s: { default: 1 } } },
      { args: { defaults: { d: "default" }, fixed: { f: ["fixed"] } }, envs: { e: "E_KEY" } },
    );
    const legal = fc.dictionary(fc.constantFrom("d", "s", "f", "e", "other"), fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(legal, (value) => {
        const sent = JSON.parse(JSON.stringify(value)) as Record<string, JsonValue>;
        let args: JsonObject;
        try {
          args = gateArguments(open, sent, vars).arguments;
        } catch (error) {
          return TesseraError.is(error); // numbers beyond 2^53 and the like
        }
        expect(args.f).toEqual(["fixed"]);
        expect("e" in args).toBe(false);
        if (!("d" in sent)) expect(args.d).toBe("default");
        if (!("s" in sent)) expect(args.s).toBe(1);
        expect(JSON.stringify(gateArguments(open, args, vars).arguments)).toBe(JSON.stringify(reordered(args)));
        const input = completeArguments(open, args, { e: "value" });
        expect(input).toEqual({ ...args, e: "value" });
        return true;
      }),
    );
  });

  /** The gate puts fixed arguments last. */
  function reordered({ f, ...rest }: JsonObject): JsonObject {
    return { ...rest, f: f as JsonValue };
  }

  function safeText(value: unknown): string {
    try {
      return JSON.stringify(value) ?? typeof value;
    } catch {
      return typeof value;
    }
  }
});
