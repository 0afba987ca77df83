// A tool that answers at once, so that a step of mixed calls has a result before it is parked.

export const handlers = { note: (_ctx: unknown, input: { readonly of: string }) => ({ noted: input.of }) };
