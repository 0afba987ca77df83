// Natural batching with a hand-driven database: what shares a batch, in which order, and who pays for a bad item.

import { VirtualClock } from "@tessera/testkit";
import { describe, expect, it } from "vitest";
import { DatabaseError } from "../ports.ts";
import { Batcher, Slots } from "./batcher.ts";

interface Run {
  readonly items: readonly string[];
  finish(): void;
}

/** A batcher whose batches wait until the test lets them finish. */
function driven(slots: Slots, runs: Run[]) {
  return new Batcher<string>({
    slots,
    clock: new VirtualClock(),
    run: (items) =>
      new Promise((resolve) =>
        runs.push({ items, finish: () => resolve(items.map((item) => `did ${JSON.parse(item)}`)) }),
      ),
    refuse: (error) => `refused ${error.sqlstate}`,
  });
}

/** A clock on which no batch is ever slow. */
const NEVER = { after: () => ({ cancel: () => undefined }) };

/** A clock whose timers fire when the test says so. */
function handClock() {
  const ripe: (() => void)[] = [];
  const clock = {
    after(_ms: number, task: () => void) {
      ripe.push(task);
      return { cancel: () => void ripe.splice(ripe.indexOf(task), 1) };
    },
  };
  return { clock, ripe };
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));

describe("a batcher", () => {
  it("sends the items of one turn of the event loop together and answers each", async () => {
    const runs: Run[] = [];
    const batcher = driven(new Slots(1, NEVER), runs);
    const answers = Promise.all(["a", "b", "c"].map((item) => batcher.add(item)));
    await nextTurn();
    expect(runs.map((run) => run.items)).toEqual([['"a"', '"b"', '"c"']]);
    runs[0]?.finish();
    expect(await answers).toEqual(["did a", "did b", "did c"]);
  });

  it("gathers while the slots are taken, also by another batcher, and goes in the order of asking", async () => {
    const runs: Run[] = [];
    const slots = new Slots(1, NEVER);
    const [first, second] = [driven(slots, runs), driven(slots, runs)];
    const answers = [first.add("a")];
    await nextTurn();
    answers.push(second.add("b"));
    await nextTurn();
    answers.push(first.add("c"), second.add("d"), first.add("e"));
    await nextTurn();
    expect(runs).toHaveLength(1);
    runs[0]?.finish();
    await nextTurn();
    expect(runs[1]?.items).toEqual(['"b"', '"d"']);
    runs[1]?.finish();
    await nextTurn();
    expect(runs[2]?.items).toEqual(['"c"', '"e"']);
    runs[2]?.finish();
    expect(await Promise.all(answers)).toEqual(["did a", "did b", "did c", "did d", "did e"]);
  });

  it("lets a second batch go beside one that takes long, and no third", async () => {
    const runs: Run[] = [];
    const { clock, ripe } = handClock();
    const slots = new Slots(2, clock);
    const batchers = [driven(slots, runs), driven(slots, runs), driven(slots, runs)];
    const answers: Promise<string>[] = [];
    for (const [n, batcher] of batchers.entries()) {
      answers.push(batcher.add(n));
      await nextTurn();
    }
    expect(runs).toHaveLength(1);
    for (const task of ripe.splice(0)) task();
    await nextTurn();
    expect(runs.map((run) => run.items)).toEqual([["0"], ["1"]]);
    expect(ripe).toEqual([]); // both slots are taken: there is nothing to wait for but their end
    runs[1]?.finish();
    await nextTurn();
    expect(runs).toHaveLength(2); // the slow one still runs, and its neighbour was quick
    runs[0]?.finish();
    await nextTurn();
    runs[2]?.finish();
    expect(await Promise.all(answers)).toEqual(["did 0", "did 1", "did 2"]);
  });

  it("never puts two items of one key in a batch, and keeps their order", async () => {
    const runs: Run[] = [];
    const batcher = driven(new Slots(2, NEVER), runs);
    const answers = Promise.all([batcher.add(1, "x"), batcher.add(2, "x"), batcher.add(3, "y"), batcher.add(4, "x")]);
    for (let n = 0; n < 3; n += 1) {
      await nextTurn();
      runs[n]?.finish();
    }
    expect(runs.map((run) => run.items)).toEqual([["1", "3"], ["2"], ["4"]]);
    expect(await answers).toEqual(["did 1", "did 2", "did 3", "did 4"]);
  });

  it("never lets a small item overtake an earlier one of its key that the limit of four megabytes left out", async () => {
    const runs: Run[] = [];
    const batcher = driven(new Slots(1, NEVER), runs);
    const [first, second] = ["x".repeat(3_000_000), "y".repeat(3_000_000)];
    const answers = [
      batcher.add(first),
      batcher.add(second, "k"),
      batcher.add("small", "k"),
      batcher.add("other", "l"),
    ];
    for (let n = 0; n < 3; n += 1) {
      await nextTurn();
      runs[n]?.finish();
    }
    const sent = runs.map((run) => run.items.map((item) => (JSON.parse(item) as string).slice(0, 5)));
    expect(sent).toEqual([["xxxxx", "other"], ["yyyyy"], ["small"]]);
    await Promise.all(answers);
  });

  it("keeps a later item of a key back while an earlier one is under way in a slow batch", async () => {
    const runs: Run[] = [];
    const { clock, ripe } = handClock();
    const batcher = driven(new Slots(2, clock), runs);
    const answers = [batcher.add(1, "x")];
    await nextTurn();
    answers.push(batcher.add(2, "x"), batcher.add(3, "y"), batcher.add(4, "x"));
    await nextTurn();
    for (const task of ripe.splice(0)) task(); // the first batch is slow: the next may go beside it
    await nextTurn();
    expect(runs.map((run) => run.items)).toEqual([["1"], ["3"]]);
    runs[1]?.finish();
    await nextTurn();
    for (const task of ripe.splice(0)) task();
    await nextTurn();
    expect(runs).toHaveLength(2);
    for (let n = 0; n < 3; n += 1) {
      runs[n === 0 ? 0 : n + 1]?.finish();
      await nextTurn();
    }
    expect(runs.map((run) => run.items)).toEqual([["1"], ["3"], ["2"], ["4"]]);
    expect(await Promise.all(answers)).toEqual(["did 1", "did 2", "did 3", "did 4"]);
  });

  it("splits a batch until the bad item stands alone, and gives its slot back", async () => {
    const seen: number[] = [];
    const batcher = new Batcher<string>({
      slots: new Slots(1, NEVER),
      clock: new VirtualClock(),
      run: async (items) => {
        seen.push(items.length);
        if (items.includes('"bad"')) throw new DatabaseError("statement", "no", { sqlstate: "22003" });
        return items.map(() => "ok");
      },
      refuse: (error) => `refused ${error.sqlstate}`,
    });
    const answers = await Promise.all(["a", "b", "bad", "c", "d"].map((item) => batcher.add(item)));
    expect(answers).toEqual(["ok", "ok", "refused 22003", "ok", "ok"]);
    expect(seen[0]).toBe(5);
    expect(await batcher.add("later")).toBe("ok");
  });

  it("refuses text that the database can never hold without sending it, and nothing that only looks like it", async () => {
    const runs: Run[] = [];
    const batcher = driven(new Slots(1, NEVER), runs);
    for (const text of ["\u0000", "a\u0000", "\\\u0000", "\ud800", "x\udc00y", "\ude00\ud83d"]) {
      expect(await batcher.add({ text })).toBe("refused 22P05");
    }
    expect(runs).toEqual([]);
    const fine = ["\\u0000", "\\\\ud800", "\u0001", "\u{1f600}", "u0000"];
    const answers = Promise.all(fine.map((text) => batcher.add(text)));
    await nextTurn();
    runs[0]?.finish();
    expect(await answers).toEqual(fine.map((text) => `did ${text}`));
  });

  it("sends at most 64 items and four megabytes at a time", async () => {
    const sizes: number[] = [];
    const batcher = new Batcher<string>({
      slots: new Slots(1, NEVER),
      clock: new VirtualClock(),
      run: async (items) => {
        sizes.push(items.length);
        return items.map(() => "ok");
      },
      refuse: () => "refused",
    });
    await Promise.all(Array.from({ length: 140 }, (_, n) => batcher.add(n)));
    expect(sizes).toEqual([64, 64, 12]);
    const large = "x".repeat(1_500_000);
    await Promise.all([batcher.add(large), batcher.add(large), batcher.add(large)]);
    expect(sizes.slice(3)).toEqual([2, 1]);
  });

  it("does what needs no locked row beside the items that do, gives its slot back, and refuses these in the end", async () => {
    const clock = new VirtualClock();
    const slots = new Slots(1, NEVER);
    const held = new Set(["b", "d"]);
    const asked: { items: string[]; isImpatient: boolean }[] = [];
    const batcher = new Batcher<string>({
      slots,
      clock,
      run: async (texts, isImpatient) => {
        const items = texts.map((text) => JSON.parse(text) as string);
        asked.push({ items, isImpatient });
        if (items.some((item) => held.has(item))) throw new DatabaseError("locked", "held");
        return items.map((item) => `did ${item}`);
      },
      refuse: (error) => `refused ${error.kind}`,
    });
    const answers = new Map<string, string>();
    const all = ["a", "b", "c", "d", "e"].map((item) =>
      batcher.add(item, item).then((answer) => answers.set(item, answer)),
    );
    await nextTurn();
    await nextTurn();
    expect(Object.fromEntries(answers)).toEqual({ a: "did a", c: "did c", e: "did e" });
    expect(asked[0]).toEqual({ items: ["a", "b", "c", "d", "e"], isImpatient: false });
    expect(asked.slice(1).every(({ isImpatient }) => isImpatient)).toBe(true);

    const behind = batcher.add("b", "b").then((answer) => answers.set("b behind", answer)); // of the same key
    expect(await batcher.add("free", "f")).toBe("did free"); // the slot is free
    held.delete("b");
    await clock.advance(400);
    await Promise.all([all[1], behind]);
    expect(answers.get("b")).toBe("did b");
    expect(answers.has("d")).toBe(false);

    await clock.advance(8_000);
    await Promise.all(all);
    expect(answers.get("d")).toBe("refused locked");
    expect(await batcher.add("d2", "d")).toBe("did d2");
  });
});
