// Policies of delegation: what is absent, what is given, what cannot be read.

import { describe, expect, it } from "vitest";
import { isToolDelegationAllowed, readToolDelegationPolicy, toolDelegationMistake } from "./delegation-policy.ts";

const helper = { name: "helper", tags: ["quiet"] };
const policy = (document: unknown) => {
  const read = readToolDelegationPolicy(document);
  return read === null ? [] : [read];
};

describe("a delegation policy for a tool's code", () => {
  it.each([
    ["none, for the bundle's code", undefined, false, true],
    ["none, for uploaded code", undefined, true, false],
    ["one without limits, for uploaded code", {}, true, true],
    ["the operation", { operations: ["send"] }, true, true],
    ["another operation", { operations: ["spawn"] }, false, false],
    ["no operation", { operations: [] }, false, false],
    ["the agent", { target_profiles: ["helper"] }, true, true],
    ["the agent in other letters", { target_profiles: ["Helper"] }, true, false],
    ["no agent", { target_profiles: [] }, false, false],
    ["a tag", { target_tags: ["loud", "quiet"] }, true, true],
    ["another tag", { target_tags: ["loud"] }, false, false],
    ["the agent, without its tag", { target_profiles: ["helper"], target_tags: ["loud"] }, false, false],
    ["what is no mapping", "all", false, false],
    ["an unknown field", { target_profile: ["helper"] }, false, false],
    ["an unknown operation", { operations: ["send", "stop"] }, false, false],
  ])("that names %s", (_, document, isForeign, expected) => {
    expect(isToolDelegationAllowed({ policies: policy(document), isForeign }, "send", helper)).toBe(expected);
  });

  it("has to agree with every other one", () => {
    const policies = [...policy({}), ...policy({ target_profiles: ["other"] })];
    expect(isToolDelegationAllowed({ policies, isForeign: true }, "send", helper)).toBe(false);
    expect(isToolDelegationAllowed({ policies, isForeign: true }, "send", { name: "other", tags: [] })).toBe(true);
  });

  it.each([
    [[], "mapping"],
    [{ targets: [] }, "no field"],
    [{ operations: "send" }, "operations"],
    [{ target_tags: [""] }, "target_tags"],
    [{ target_profiles: ["a\u0000"] }, "target_profiles"],
    [{ target_profiles: Array.from({ length: 65 }, (_, n) => `a${n}`) }, "at most 64"],
  ])("with a mistake is refused where it is written: %j", (document, says) => {
    expect(toolDelegationMistake(document)).toContain(says);
  });
});
