import { type Database, DatabaseError } from "@tessera/kernel";
import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { watchWrites } from "./watch-writes.ts";

const asked: string[] = [];
const full = () => new DatabaseError("exhausted", "no space left", { sqlstate: "53100" });
const base = {
  capabilities: { engine: "postgres", roles: true, batchesInFlight: 2 } as const,
  query: async (text: string) => {
    asked.push(`patient ${text}`);
    return [];
  },
};

describe("the watched store", () => {
  it("hands impatient statements to the connections that are theirs, and notes what they are refused", async () => {
    const impatient = {
      query: async (text: string) => {
        asked.push(`impatient ${text}`);
        if (text === "write") throw full();
        return [];
      },
    };
    const watched = watchWrites({ ...base, impatient } as Partial<Database> as Database, {
      clock: new VirtualClock(),
      onWarning: () => undefined,
    });
    await watched.query("one");
    await watched.impatient?.query("two");
    expect(asked).toEqual(["patient one", "impatient two"]);
    expect(watched.refusesWrites).toBeNull();
    await expect(watched.impatient?.query("write")).rejects.toThrow("no space left");
    expect(watched.refusesWrites).toContain("disk");
  });

  it("has none where the store has none", () => {
    const watched = watchWrites(base as Partial<Database> as Database, {
      clock: new VirtualClock(),
      onWarning: () => undefined,
    });
    expect(watched.impatient).toBeUndefined();
  });
});
