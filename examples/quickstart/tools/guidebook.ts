// Runs in a process of its own: whatever it does, it cannot take the worker with it.

const PAGES = {
  sights: "the old bridge, the book shop with the red stairs, the river at dusk",
  food: "grilled fish at the harbour, custard tarts for the train",
} as const;

export const handlers = {
  look_up: (_ctx: unknown, { topic }: { readonly topic: keyof typeof PAGES }) => ({ text: PAGES[topic] }),
};
