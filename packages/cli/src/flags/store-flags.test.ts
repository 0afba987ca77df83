import { expect, it } from "vitest";
import { chooseStore } from "./store-flags.ts";

const POSTGRES = "postgres://h/d";

it.each([
  [{ data: "a" }, {}, { data: "a" }],
  [{ postgres: POSTGRES }, {}, { postgres: POSTGRES }],
  [{}, { TESSERA_DATA: "b" }, { data: "b" }],
  [{}, { TESSERA_POSTGRES: POSTGRES }, { postgres: POSTGRES }],
  [{ data: "a" }, { TESSERA_DATA: "b", TESSERA_POSTGRES: POSTGRES }, { data: "a" }],
  [{ data: "a" }, { TESSERA_POSTGRES: POSTGRES }, { data: "a" }],
  [{}, { TESSERA_DATA: "", TESSERA_POSTGRES: POSTGRES }, { postgres: POSTGRES }],
])("a flag wins over the environment: %j with %j is %j", (flags, env, chosen) => {
  expect(chooseStore(flags, env)).toEqual(chosen);
});

it.each([
  [{ data: "a", postgres: POSTGRES }, {}, /--data and --postgres were both given/],
  [{}, { TESSERA_DATA: "b", TESSERA_POSTGRES: POSTGRES }, /TESSERA_DATA and TESSERA_POSTGRES are both set/],
  [{}, {}, /no store was given/],
])("no store is guessed: %j with %j", (flags, env, message) => {
  expect(() => chooseStore(flags, env)).toThrow(message);
});
