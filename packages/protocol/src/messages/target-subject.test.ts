import { describe, expect, test } from "vitest";
import { parseTargetSubject, renderTargetSubject } from "./target-subject.ts";

const values = { project_id: "p1", channel_id: "public", agent_id: "a1" };

test("placeholders are filled from the context", () => {
  const template = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.query";
  expect(renderTargetSubject(template, values)).toBe("cg.v1r4.p1.public.cmd.tool.search.query");
});

test("an agent id may be part of target or action, and literals stay", () => {
  expect(renderTargetSubject("cg.v1r4.p1.c9.cmd.tool.box_{agent_id}.run", values)).toBe(
    "cg.v1r4.p1.c9.cmd.tool.box_a1.run",
  );
  expect(parseTargetSubject("cg.v1r4.{project_id}.c9.cmd.tool.t.a", values)).toEqual({
    version: "v1r4",
    project_id: null,
    channel_id: "c9",
    target: "t",
    action: "a",
  });
});

test("a template of a v1r3 peer renders to a v1r3 subject", () => {
  expect(renderTargetSubject("cg.v1r3.{project_id}.{channel_id}.cmd.tool.old.run", values)).toMatch(
    /^cg\.v1r3\.[^.]+\.[^.]+\.cmd\.tool\.old\.run$/,
  );
});

describe("a template is refused when", () => {
  test.each([
    ["its version is another", "cg.v1.OTHER.public.cmd.tool.x"],
    ["its version is one that no peer speaks", "cg.v1r2.{project_id}.{channel_id}.cmd.tool.x.y"],
    ["it ends in a wildcard", "cg.v1r4.{project_id}.{channel_id}.cmd.tool.>"],
    ["its action is a wildcard", "cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.>"],
    ["it only contains the right words", "x.cmd.sys.tool.y"],
    ["it is a system command", "cg.v1r4.{project_id}.{channel_id}.cmd.sys.tool.y"],
    ["it is an event", "cg.v1r4.{project_id}.{channel_id}.evt.tool.x.y"],
    ["it has an unknown placeholder", "cg.v1r4.{project_id}.{channel_id}.cmd.tool.{evil}.y"],
    ["it has a prototype placeholder", "cg.v1r4.{project_id}.{channel_id}.cmd.tool.{__proto__}.y"],
    ["its placeholders are swapped", "cg.v1r4.{channel_id}.{project_id}.cmd.tool.x.y"],
    ["its braces are nested", "cg.v1r4.{{project_id}}.{channel_id}.cmd.tool.x.y"],
    ["its action has two tokens, which no executor subscribes to", "cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.y.z"],
    ["it names another project", "cg.v1r4.p2.{channel_id}.cmd.tool.x.y"],
    ["it is empty", ""],
  ])("%s", (_, template) => {
    expect(() => parseTargetSubject(template, { project_id: "p1" })).toThrow(
      expect.objectContaining({ code: "invalid_target_subject" }),
    );
  });
});

test("an error message is short, however long the template", () => {
  for (const token of ["\0".repeat(5_000), "x".repeat(5_000), "\ud800".repeat(5_000)]) {
    const refused = expect.objectContaining({ message: expect.stringMatching(/^.{1,600}$/) });
    expect(() => parseTargetSubject(`cg.v1r4.{project_id}.{channel_id}.cmd.tool.${token}.y`)).toThrow(refused);
    expect(() =>
      renderTargetSubject("cg.v1r4.{project_id}.{channel_id}.cmd.tool.x.y", { ...values, project_id: token }),
    ).toThrow(refused);
  }
});

test("a value that is not one token cannot be rendered in", () => {
  const template = "cg.v1r4.{project_id}.{channel_id}.cmd.tool.{agent_id}.run";
  expect(() => renderTargetSubject(template, { ...values, agent_id: "tool.x" })).toThrow(
    expect.objectContaining({ code: "invalid_subject" }),
  );
});
