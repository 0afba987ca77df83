import { expect, test } from "vitest";
import { waitFor } from "./wait-for.ts";

test("the first truthy answer is returned", async () => {
  let asked = 0;
  expect(await waitFor(() => (++asked === 3 ? "yes" : null), { what: "the third" })).toBe("yes");
});

test("a failed wait says what was awaited and what was seen last", async () => {
  const wait = waitFor(() => 0, { what: "a number above zero", timeoutMs: 20 });
  await expect(wait).rejects.toThrow("waited 20 ms for a number above zero; seen last: 0");
});

test("an error of the condition counts as not yet, and is shown when time is up", async () => {
  let asked = 0;
  const later = () => {
    if (++asked < 3) throw new Error("not yet");
    return true;
  };
  expect(await waitFor(later, { what: "the third" })).toBe(true);
  const never = () => {
    throw new Error("the reason");
  };
  await expect(waitFor(never, { what: "nothing", timeoutMs: 20 })).rejects.toThrow("the reason");
});

test("a condition that never answers is not waited for beyond the deadline and a little more", async () => {
  const wait = waitFor(() => new Promise<boolean>(() => {}), { what: "silence to end", timeoutMs: 20 });
  await expect(wait).rejects.toThrow("waited 20 ms for silence to end; seen last: 'no answer'");
}, 30_000);
