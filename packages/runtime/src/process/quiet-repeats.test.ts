import { expect, it } from "vitest";
import { PAUSE_MS_MAX, quietRepeats } from "./quiet-repeats.ts";

function hearing() {
  const said: string[] = [];
  const at = { ms: 0 };
  return {
    said,
    at,
    warn: quietRepeats(
      (text) => void said.push(text),
      () => at.ms,
    ),
  };
}

it("says a text that comes four times a second for two minutes a few times, with how often it came", () => {
  const { said, at, warn } = hearing();
  for (at.ms = 0; at.ms < 120_000; at.ms += 250) warn("the database is away");
  expect(said).toEqual([
    "the database is away",
    "the database is away (20 times since it was last said)",
    "the database is away (40 times since it was last said)",
    "the database is away (80 times since it was last said)",
    "the database is away (160 times since it was last said)",
  ]);
});

it("says other texts meanwhile, and the same one again once it had stayed away", () => {
  const { said, at, warn } = hearing();
  for (const text of ["a", "b", "a"]) warn(text);
  at.ms = PAUSE_MS_MAX + 1;
  warn("a");
  expect(said).toEqual(["a", "b", "a"]);
});

it("remembers no more than so many texts", () => {
  const { said, warn } = hearing();
  warn("first");
  for (let index = 0; index < 300; index++) warn(`text ${index}`);
  warn("first");
  expect(said.filter((text) => text === "first")).toHaveLength(2);
});
