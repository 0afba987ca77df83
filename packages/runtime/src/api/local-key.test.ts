import { describe, expect, it } from "vitest";
import { createLocalKey } from "./local-key.ts";

const kernel = { authenticate: async () => null };

describe("the administrator's key of a process", () => {
  it("is the given one, or one that is made; no other text counts", async () => {
    const given = createLocalKey({ kernel, given: "mine" });
    expect([given.text, given.isNew]).toEqual(["mine", false]);
    expect(await given.authenticate("mine")).toMatchObject({ role: "admin", project_id: null });
    expect(await given.authenticate("Mine")).toBeNull();
    const made = createLocalKey({ kernel, given: "" });
    expect(made.isNew).toBe(true);
    expect(await made.authenticate("")).toBeNull();
    expect(await made.authenticate(made.text)).toMatchObject({ role: "admin" });
  });

  it.each(["two words", "line\n", "schl\u00fcssel", "k".repeat(257)])(
    "is refused when no request can show it: %j",
    (given) => {
      const make = () => createLocalKey({ kernel, given });
      expect(make).toThrow(/TESSERA_API_KEY/);
      expect(make).not.toThrow(given);
    },
  );
});
