// What a turn that runs out of steps may still do (docs/protocol/turns.md#what-a-turn-is-made-of). `stepsLeft` counts the step
// that is about to be taken.

export const SUBMIT_RESULT = "submit_result";
const WARN_AT = 2;

/** What the model reads; null while there is no need. */
export function budgetWarning(stepsLeft: number): string | null {
  if (stepsLeft > WARN_AT) return null;
  if (stepsLeft <= 1) return "This is the last step of this turn. Give your result now; no other tool can be called.";
  return `Only ${stepsLeft} steps are left in this turn. Bring your work to an end and give your result.`;
}

/** The tools that a step offers. The last one offers only what can end the turn: submit_result, and what the profile says
 *  the turn must end with, because a turn that may not call it could not end as its profile demands. */
export function offeredForBudget<T extends { readonly definition: { readonly tool_name: string } }>(
  tools: readonly T[],
  stepsLeft: number,
  mustEndWith: readonly string[] = [],
): readonly T[] {
  if (stepsLeft > 1) return tools;
  return tools.filter(
    ({ definition: { tool_name } }) => tool_name === SUBMIT_RESULT || mustEndWith.includes(tool_name),
  );
}
