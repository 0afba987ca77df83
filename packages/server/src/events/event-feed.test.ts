import type { EventRow } from "@tessera/kernel";
import type { Bus } from "@tessera/kernel/ports";
import { VirtualClock } from "@tessera/testkit";
import { expect, it } from "vitest";
import { createEventFeeds } from "./event-feed.ts";

it("a store that is away is asked ever less often, told of once, and told of again when it is back", async () => {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  let looks = 0;
  let isAway = true;
  const feeds = createEventFeeds({
    kernel: {
      reads: {
        lastEventSeq: async () => 0,
        eventsAfter: async (): Promise<EventRow[]> => {
          looks += 1;
          if (isAway) throw new Error("no database");
          return [];
        },
      },
    },
    bus: { capabilities: { keepsForAbsent: true } } as Bus,
    clock,
    onWarning: (warning) => warnings.push(warning),
  });
  const listener = await feeds.join("p1");
  await clock.advance(60_000);
  expect(looks).toBeGreaterThan(10); // it goes on asking …
  expect(looks).toBeLessThan(25); // … and not four times a second
  isAway = false;
  await clock.advance(5_000);
  expect(warnings).toEqual([expect.stringContaining("no database"), expect.stringContaining("can be read again")]);
  listener.leave();
  await feeds.close();
});
