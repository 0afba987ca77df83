// Runs in a process of its own, so it may take long, and a run that is interrupted runs it again.

import { setTimeout as delay } from "node:timers/promises";

interface Wanted {
  readonly topic: string;
  readonly seconds?: number;
}

export const handlers = {
  async find(_ctx: unknown, { topic, seconds = 0 }: Wanted) {
    await delay(seconds * 1_000);
    return { books: [`A short history of ${topic}`, `${topic} for beginners`] };
  },
};
