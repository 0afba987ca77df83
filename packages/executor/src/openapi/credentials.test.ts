import { CGError } from "@tessera/protocol";
import { expect, it } from "vitest";
import { createCredentialSource } from "./credentials.ts";

const ENV = { A_KEY: "a-secret", EMPTY: "" };

function codeOf(task: () => unknown): string {
  try {
    return `gave ${String(task())}`;
  } catch (error) {
    return CGError.is(error) ? error.code : String(error);
  }
}

it("gives what the record holds, and nothing for what is empty, missing or inherited", () => {
  const credential = createCredentialSource(ENV, undefined);
  expect(credential("A_KEY", "a.example")).toBe("a-secret");
  expect(["EMPTY", "MISSING", "constructor"].map((name) => credential(name, "a.example"))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it("refuses a variable for a host that the operator did not pair it with, without its value", () => {
  const credential = createCredentialSource(ENV, { A_KEY: ["a.example"] });
  expect(credential("A_KEY", "a.example")).toBe("a-secret");
  expect(codeOf(() => credential("A_KEY", "evil.example"))).toBe("env_not_allowed");
  expect(codeOf(() => credential("EMPTY", "a.example"))).toBe("env_not_allowed");
  expect(codeOf(() => credential("constructor", "a.example"))).toBe("env_not_allowed");
});

it("never gives a variable that steers a process, even where it was granted", () => {
  const env = { DATABASE_URL: "postgres://secret", NODE_OPTIONS: "x" };
  for (const hosts of [undefined, { DATABASE_URL: ["a.example"], NODE_OPTIONS: ["a.example"] }]) {
    const credential = createCredentialSource(env, hosts);
    expect(codeOf(() => credential("DATABASE_URL", "a.example"))).toBe("env_not_allowed");
    expect(codeOf(() => credential("NODE_OPTIONS", "a.example"))).toBe("env_not_allowed");
  }
});
