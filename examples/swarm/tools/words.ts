// Runs in the worker's own process: quick and harmless.

export const handlers = {
  count: (_ctx: unknown, { text }: { readonly text: string }) => ({ words: text.split(/\s+/).filter(Boolean).length }),
};
