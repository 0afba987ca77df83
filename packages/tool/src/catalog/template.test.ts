import { type JsonValue, TesseraError } from "@tessera/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkTemplates, hasTemplates, renderTemplates, TEMPLATE_VARIABLES } from "./template.ts";

const vars = { project_id: "p1", agent_id: "a1", turn_epoch: 7, recursion_depth: 0, step_id: null };

describe("rendering", () => {
  it.each<[JsonValue, JsonValue | undefined]>([
    ["{project_id}", "p1"],
    ["{project_id}/{agent_id}-{project_id}", "p1/a1-p1"],
    ["{turn_epoch}", "7"],
    ["{recursion_depth}", "0"],
    ["no braces", "no braces"],
    [{ a: ["{agent_id}", 1, null, { b: "x{agent_id}" }] }, { a: ["a1", 1, null, { b: "xa1" }] }],
    ["{step_id}", undefined],
    ["{trace_id}", undefined],
    [{ a: ["{agent_id}", ["{step_id}"]] }, undefined],
  ])("%j becomes %j", (value, expected) => {
    expect(renderTemplates(value, vars)).toEqual(expected);
  });

  it("a variable's value is never read as a template", () => {
    expect(renderTemplates("{project_id}", { project_id: "{agent_id}$&", agent_id: "secret" })).toBe("{agent_id}$&");
  });

  it("shares nothing with the definition", () => {
    const value = { a: [{ b: 1 }] };
    const rendered = renderTemplates(value, vars) as typeof value;
    expect(rendered).toEqual(value);
    expect(rendered.a[0]).not.toBe(value.a[0]);
  });

  it("a value without braces comes out as it went in", () => {
    const noBraces = fc.jsonValue().filter((value) => !JSON.stringify(value).slice(1, -1).includes("{"));
    fc.assert(
      fc.property(noBraces, (value) => {
        expect(JSON.stringify(renderTemplates(value as JsonValue, {}))).toBe(JSON.stringify(value));
        expect(hasTemplates(value as JsonValue)).toBe(false);
      }),
    );
  });
});

describe("a brace that belongs to no variable is refused", () => {
  it.each<JsonValue>([
    "{project_id}{evil}",
    "{{}}",
    "{}",
    "{__proto__}",
    "{constructor}",
    "{{project_id}}",
    "{project_{agent_id}}",
    "{project_id",
    "project_id}",
    "{ project_id }",
    "{PROJECT_ID}",
    '{"a":1}',
    ["ok", { deep: "{evil}" }],
  ])("%j", (value) => {
    try {
      checkTemplates(value, "/options/args/fixed/a");
      expect.fail("was accepted");
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      expect(error.code).toBe("unknown_template_var");
      expect(error.details.pointer).toMatch(/^\/options\/args\/fixed\/a/);
    }
  });

  it.each(TEMPLATE_VARIABLES)("{%s} is known", (name) => {
    expect(() => checkTemplates(`x{${name}}y`, "")).not.toThrow();
    expect(hasTemplates(`x{${name}}y`)).toBe(true);
  });
});
