import { describe, expect, it } from "vitest";
import { budgetWarning, offeredForBudget } from "./step-budget.ts";
import { renderSystemPrompt, requiredFields } from "./system-prompt.ts";

const profile = (system_prompt: string, allowed_internal_tools: string[] = []) => ({
  name: "planner",
  system_prompt,
  allowed_internal_tools,
});
const fields = [
  { name: "summary", description: "one sentence" },
  { name: "score", description: "" },
];

describe("the system prompt", () => {
  it("fills the four placeholders and leaves all others as written", () => {
    const text =
      "{display_name}|{downstream_desc}|{downstream_roster}|{downstream_profiles_desc}|{other}|{toString}|{ }";
    const facts = { display_name: "Ann", downstream_desc: "d", downstream_roster: "r", downstream_profiles_desc: "p" };
    expect(renderSystemPrompt(profile(text), facts)).toBe("Ann|d|r|p|{other}|{toString}|{ }");
  });

  it("does not read a filled-in value again, nor take its dollar signs for anything", () => {
    const facts = { display_name: "{downstream_desc} $& $1", downstream_desc: "secret" };
    expect(renderSystemPrompt(profile("I am {display_name}."), facts)).toBe("I am {downstream_desc} $& $1.");
  });

  it("falls back to the profile's name", () => {
    expect(renderSystemPrompt(profile("{display_name}"), { display_name: null })).toBe("planner");
  });

  it("lists the required fields, with submit_result where the agent has it", () => {
    expect(renderSystemPrompt(profile("Plan.", ["submit_result"]), { required_fields: fields })).toBe(
      "Plan.\n\nWhen your work is done, call submit_result alone, with each of these fields exactly once:\n- summary: one sentence\n- score",
    );
    const without = renderSystemPrompt(profile("Plan."), { required_fields: fields });
    expect(without).toContain("- summary: one sentence");
    expect(without).not.toContain("submit_result");
  });

  it("warns when two steps or fewer are left, last of all", () => {
    expect(renderSystemPrompt(profile("Plan."), { steps_left: 3 })).toBe("Plan.");
    const warned = renderSystemPrompt(profile("Plan."), { steps_left: 2, required_fields: fields });
    expect(warned).toMatch(/- score\n\nOnly 2 steps are left/);
    expect(renderSystemPrompt(profile("Plan."), { steps_left: 1 })).toContain("last step");
    expect(budgetWarning(0)).toContain("last step");
  });
});

describe("the required fields", () => {
  const card = (content: object) => ({ type: "task.result_fields", content: content as never });

  it("are those of the last card, because what is inherited comes first", () => {
    expect(requiredFields([])).toEqual([]);
    expect(requiredFields([card({ fields: [{ name: "old", description: "" }] }), card({ fields })])).toEqual(fields);
  });

  it("are none where a card does not hold any", () => {
    expect(requiredFields([card({ fields: "no" })])).toEqual([]);
  });
});

describe("the tools of a step", () => {
  const tools = ["search__web", "submit_result", "mail__send"].map((tool_name) => ({ definition: { tool_name } }));
  const names = (left: number, mustEndWith?: string[]) =>
    offeredForBudget(tools, left, mustEndWith).map(({ definition }) => definition.tool_name);

  it("are all of them until the last step, which offers only what ends the turn", () => {
    expect(names(2)).toEqual(["search__web", "submit_result", "mail__send"]);
    expect(names(1)).toEqual(["submit_result"]);
    expect(names(1, ["mail__send"])).toEqual(["submit_result", "mail__send"]);
  });
});
