import { describe, expect, it } from "vitest";
import { createShares, type Holder } from "./shares.ts";

const holder = (key_id: string, project_id: string | null, address = "a1"): Holder => ({
  key: { key_id, project_id },
  address,
});

describe("a share", () => {
  it("is bounded by key, project and address, and says which bound it met", () => {
    const shares = createShares({ all: 100, perKey: 2, perProject: 3, perAddress: 5 });
    expect([1, 2, 3].map(() => shares.take(holder("k1", "p1")))).toEqual([null, null, "key"]);
    expect([1, 2].map(() => shares.take(holder("k2", "p1")))).toEqual([null, "project"]);
    expect([1, 2].map(() => shares.take(holder("k3", "p2")))).toEqual([null, null]);
    expect(shares.take(holder("k4", "p3"))).toBe("address");
    expect(shares.take(holder("k4", "p3", "a2"))).toBeNull();
    expect(shares.held()).toBe(6);
    shares.give(holder("k1", "p1"));
    expect(shares.take(holder("k2", "p1"))).toBeNull();
  });

  it("leaves the last fifth to tenants that hold nothing, whatever two others hold together", () => {
    const shares = createShares({ all: 10, perKey: 10, perProject: 10 });
    const taken = ["p1", "p2"].map((project) => {
      let count = 0;
      while (count < 4 && shares.take(holder(`k${count}`, project)) === null) count += 1;
      return count;
    });
    expect(taken).toEqual([4, 4]);
    expect(shares.take(holder("k1", "p1"))).toBe("all");
    expect([shares.take(holder("x", "p3")), shares.take(holder("y", "p3"))]).toEqual([null, "all"]);
    expect(shares.take(holder("z", null))).toBeNull(); // a key of no project is a tenant of its own
    expect(shares.take(holder("w", "p4"))).toBe("all"); // there is no more
  });

  it("counts amounts, and takes nothing where it refuses", () => {
    const shares = createShares({ all: 100, perKey: 50, perProject: 60 });
    expect(shares.take(holder("k1", "p1"), 50)).toBeNull();
    expect(shares.take(holder("k2", "p1"), 11)).toBe("project");
    expect(shares.take(holder("k2", "p1"), 10)).toBeNull();
    expect(shares.held()).toBe(60);
    shares.give(holder("k1", "p1"), 50);
    shares.give(holder("k2", "p1"), 10);
    expect(shares.held()).toBe(0);
  });
});
