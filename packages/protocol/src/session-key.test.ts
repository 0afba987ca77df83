import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isId } from "./ids.ts";
import { SESSION_ALIAS_CHARS_MAX, sessionKey } from "./session-key.ts";

const owner = (project_id: string, agent_id: string) => ({ project_id, agent_id });
const alias = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
// Few letters and the letters that join the parts: borders move easily here.
const part = fc.string({ unit: fc.constantFrom("a", "_", "-"), minLength: 1, maxLength: 5 });
const word = fc.string({ unit: fc.constantFrom("a", "_", ":", '"', ",", "\\"), minLength: 1, maxLength: 5 });

describe("a session's key", () => {
  it("starts with what a person can read", () => {
    expect(sessionKey(owner("acme", "bob"), "chat:1")).toMatch(/^acme_bob_chat_1_[0-9a-f]{32}$/);
  });

  it("is the same for the same session, and another for another agent or project", () => {
    const key = sessionKey(owner("p", "a"), "s");
    expect(sessionKey(owner("p", "a"), "s")).toBe(key);
    expect(new Set([key, sessionKey(owner("p", "b"), "s"), sessionKey(owner("q", "a"), "s")]).size).toBe(3);
  });

  it("differs where only the borders between the parts differ", () => {
    expect(sessionKey(owner("a", "b_c"), "d")).not.toBe(sessionKey(owner("a_b", "c"), "d"));
    expect(sessionKey(owner("a", "b"), "c:d")).not.toBe(sessionKey(owner("a", "b"), "c_d"));
    expect(sessionKey(owner("a", "b"), "\ud800")).not.toBe(sessionKey(owner("a", "b"), "\ud801"));
  });

  it("never is the key of another session", () => {
    const triple = fc.tuple(part, part, word);
    fc.assert(
      fc.property(triple, triple, (one, two) => {
        const isSame = one.every((text, index) => text === two[index]);
        const keys = [one, two].map(([project, agent, name]) => sessionKey(owner(project, agent), name));
        expect(keys[0] === keys[1]).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is a legal id whatever the alias", () => {
    fc.assert(fc.property(alias, (name) => isId(sessionKey(owner("p".repeat(64), "a".repeat(64)), name))));
    fc.assert(fc.property(alias, (name) => isId(sessionKey(owner("p", "a"), name))));
  });

  it("needs an alias of a sensible length", () => {
    expect(() => sessionKey(owner("p", "a"), "")).toThrow("session_id");
    expect(() => sessionKey(owner("p", "a"), "x".repeat(SESSION_ALIAS_CHARS_MAX + 1))).toThrow("session_id");
  });
});
