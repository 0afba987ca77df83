import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chooseServer } from "./server-flags.ts";

const KEY = { TESSERA_API_KEY: "k" };
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-server-flags-"));
  writeFileSync(join(directory, "key"), "from-a-file\n");
  writeFileSync(join(directory, "empty"), "\n");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it.each([
  [{ url: "http://a" }, KEY, { url: "http://a", apiKey: "k" }],
  [{}, { ...KEY, TESSERA_URL: "http://b" }, { url: "http://b", apiKey: "k" }],
  [{ url: "http://a" }, { ...KEY, TESSERA_URL: "http://b" }, { url: "http://a", apiKey: "k" }],
  [{ data: "x" }, { ...KEY, TESSERA_URL: "http://b" }, null],
  [{}, KEY, null],
])("a flag wins over the environment: %j with %j is %j", (flags, env, chosen) => {
  expect(chooseServer(flags, env)).toEqual(chosen);
});

it("a key in a file wins over the environment's", () => {
  const apiKeyFile = join(directory, "key");
  expect(chooseServer({ url: "http://a", apiKeyFile }, KEY)).toEqual({ url: "http://a", apiKey: "from-a-file" });
});

it("an empty file of a key is named", () => {
  const apiKeyFile = join(directory, "empty");
  expect(() => chooseServer({ url: "http://a", apiKeyFile }, KEY)).toThrow(`there is no key in ${apiKeyFile}`);
});

it.each([
  [{ url: "http://a", data: "x" }, KEY, /leave out --data/],
  [{}, { ...KEY, TESSERA_URL: "http://b", TESSERA_DATA: "d" }, /TESSERA_URL and TESSERA_DATA are both set/],
  [{ url: "http://a" }, {}, /there is no key for the server/],
  [{ url: "http://a", apiKeyFile: "nowhere" }, KEY, /cannot read nowhere: ENOENT/],
  [{ apiKeyFile: "x" }, {}, /--api-key-file goes with --url/],
])("nothing is guessed: %j with %j", (flags, env, message) => {
  expect(() => chooseServer(flags, env)).toThrow(message);
});
