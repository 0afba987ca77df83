import { TesseraError } from "@tessera/protocol";
import { expect, it } from "vitest";
import { readCredentialGrant } from "./credential-grants.ts";
import { createCredentialSource } from "./credentials.ts";

const ENV = { A_KEY: "a-secret", EMPTY: "" };

const sourceOf = (env: Record<string, string>, ...lines: string[]) => {
  const source = createCredentialSource(env, lines.map(readCredentialGrant));
  return (variable: string, host: string): string => {
    try {
      const wanted = { header: "authorization", env: variable, prefix: "", base64: false };
      const request = { url: new URL(`https://${host}/x`), method: "GET", headers: {}, hasBody: false };
      return `gave ${String(source.read(wanted, request))}`;
    } catch (error) {
      return TesseraError.is(error) && !error.message.includes("secret") ? error.code : String(error);
    }
  };
};

it("gives what the record holds, and nothing for what is empty, missing or inherited", () => {
  const names = ["A_KEY", "EMPTY", "MISSING", "constructor"];
  const credential = sourceOf(ENV, ...names.map((name) => `${name} GET a.example/x`));
  expect(names.map((name) => credential(name, "a.example"))).toEqual([
    "gave a-secret",
    "gave undefined",
    "gave undefined",
    "gave undefined",
  ]);
});

it("refuses a variable for a host that it was not granted for, without its value, and everything where nothing is granted", () => {
  const credential = sourceOf(ENV, "A_KEY GET a.example/x");
  expect(credential("A_KEY", "a.example")).toBe("gave a-secret");
  expect(credential("A_KEY", "evil.example")).toBe("env_not_allowed");
  expect(credential("EMPTY", "a.example")).toBe("env_not_allowed");
  expect(credential("constructor", "a.example")).toBe("env_not_allowed");
  expect(sourceOf(ENV)("A_KEY", "a.example")).toBe("env_not_allowed");
});

it("never gives a variable that steers a process, even where it was granted", () => {
  const env = { DATABASE_URL: "postgres://secret", NODE_OPTIONS: "x" };
  const credential = sourceOf(env, "DATABASE_URL * a.example/**", "NODE_OPTIONS * a.example/**");
  expect(credential("DATABASE_URL", "a.example")).toBe("env_not_allowed");
  expect(credential("NODE_OPTIONS", "a.example")).toBe("env_not_allowed");
});
