// Boxes and cards over HTTP: tails, pages backwards, bulk reads with what is missing.

import { beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const BOXES = `/projects/${PROJECT}/boxes`;
const CARDS = `/projects/${PROJECT}/cards`;
const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `c${from + n}`);

async function box(project_id: string, box_id: string, card_ids: readonly string[]): Promise<void> {
  const common = { project_id, type: "task.instruction", author_id: "a" };
  await Promise.all(card_ids.map((card_id) => fx.kernel.putCard({ ...common, card_id, content: { text: card_id } })));
  expect(await fx.kernel.putBox({ project_id, box_id, card_ids })).toMatchObject({ outcome: "accepted" });
}

beforeAll(async () => {
  await box(PROJECT, "b1", ids(0, 7));
  await box(PROJECT, "empty", []);
  await box(OTHER, "foreign", ["f0"]);
});

describe("a box", () => {
  it("answers the ids of its last cards, in their order", async () => {
    expect((await fx.get(`${BOXES}/b1`)).body).toEqual({ box_id: "b1", card_ids: ids(0, 7) });
    expect((await fx.get(`${BOXES}/b1?limit=3`)).body.card_ids).toEqual(ids(4, 7));
    expect((await fx.get(`${BOXES}/empty`)).body.card_ids).toEqual([]);
  });

  it("answers its last cards; the cursor leads to earlier ones without a gap", async () => {
    const first = await fx.get(`${BOXES}/b1/cards?limit=3`);
    const texts = (cards: readonly { content: { text: string } }[]) => cards.map((card) => card.content.text);
    expect(texts(first.body.cards)).toEqual(ids(4, 7));
    const pages = [texts(first.body.cards)];
    for (let next = first.body.next_cursor; next !== null; ) {
      const page = await fx.get(`${BOXES}/b1/cards?limit=3&cursor=${encodeURIComponent(next)}`);
      pages.unshift(texts(page.body.cards));
      next = page.body.next_cursor;
    }
    expect(pages).toEqual([ids(0, 1), ids(1, 4), ids(4, 7)]);
    expect((await fx.get(`${BOXES}/empty/cards`)).body).toEqual({ cards: [], next_cursor: null });
  });

  it("is not there under another project, nor under another name", async () => {
    for (const path of ["/foreign", "/foreign/cards", "/none", "/none/cards"]) {
      const answer = await fx.get(`${BOXES}${path}`);
      expect([answer.status, answer.body.error_detail]).toEqual([404, { field: "box_id" }]);
    }
  });

  it("does not take the cursor of another box", async () => {
    const { next_cursor } = (await fx.get(`${BOXES}/b1/cards?limit=1`)).body;
    expect((await fx.get(`${BOXES}/empty/cards?cursor=${encodeURIComponent(next_cursor)}`)).status).toBe(400);
  });
});

describe("boxes in bulk", () => {
  const read = (json: unknown) => fx.post(`${BOXES}/batch`, json, "viewer");

  it("answers what is there and names what is not", async () => {
    const answer = await read({ box_ids: ["b1", "none", "foreign", "b1", "empty"], limit: 2 });
    expect(answer.status).toBe(200);
    expect(answer.body.boxes).toEqual([
      { box_id: "b1", card_ids: ids(5, 7) },
      { box_id: "empty", card_ids: [] },
    ]);
    expect(answer.body.missing_box_ids).toEqual(["none", "foreign"]);
    expect(answer.body.missing_card_ids).toEqual([]);
  });

  it("answers the cards, too, when asked", async () => {
    const { boxes } = (await read({ box_ids: ["b1"], hydrate: true })).body;
    expect(boxes[0].cards.map((card: { card_id: string }) => card.card_id)).toEqual(ids(0, 7));
  });

  it("refuses to answer more cards than one answer may hold", async () => {
    const many = Array.from({ length: 5 }, (_, n) => `many${n}`);
    for (const name of many)
      await box(
        PROJECT,
        name,
        Array.from({ length: 401 }, (_, n) => `${name}_${n}`),
      );
    const answer = await read({ box_ids: many, hydrate: true, limit: 500 });
    expect([answer.status, answer.body.error_code]).toEqual([413, "payload_too_large"]);
    expect((await read({ box_ids: many, hydrate: true, limit: 5 })).body.boxes).toHaveLength(5);
    expect((await read({ box_ids: many, limit: 500 })).status).toBe(200);
  });

  it.each([
    ["box_ids", {}],
    ["box_ids", { box_ids: [] }],
    ["box_ids", { box_ids: Array.from({ length: 101 }, (_, n) => `b${n}`) }],
    ["box_ids/1", { box_ids: ["b1", "a.b"] }],
    ["limit", { box_ids: ["b1"], limit: 501 }],
    ["hydrate", { box_ids: ["b1"], hydrate: "yes" }],
    ["evil", { box_ids: ["b1"], evil: 1 }],
  ])("names %s when it does not fit", async (field, json) => {
    const answer = await read(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([400, field]);
  });
});

describe("cards that are too large for one answer", () => {
  const large = Array.from({ length: 40 }, (_, n) => `large${n}`);
  const refused = [413, "payload_too_large"];

  beforeAll(async () => {
    const text = "x".repeat(700_000);
    const common = { project_id: PROJECT, type: "task.instruction", author_id: "a", content: { text } };
    for (const card_id of large) await fx.kernel.putCard({ ...common, card_id });
    await fx.kernel.putBox({ project_id: PROJECT, box_id: "large", card_ids: large });
  });

  it("are refused in bulk", async () => {
    const cards = await fx.post(`${CARDS}/batch`, { card_ids: large }, "viewer");
    expect([cards.status, cards.body.error_code]).toEqual(refused);
    const boxes = await fx.post(`${BOXES}/batch`, { box_ids: ["large"], hydrate: true }, "viewer");
    expect([boxes.status, boxes.body.error_code]).toEqual(refused);
    expect((await fx.post(`${CARDS}/batch`, { card_ids: large.slice(0, 5) }, "viewer")).status).toBe(200);
  });

  it("make the pages of a box shorter, and none is left out", async () => {
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const more: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await fx.get(`${BOXES}/large/cards?limit=500${more}`);
      expect(page.text.length).toBeLessThan(40 * 700_000);
      found.unshift(...page.body.cards.map((card: { card_id: string }) => card.card_id));
      cursor = page.body.next_cursor;
    }
    expect(found).toEqual(large);
  });
});

describe("cards", () => {
  const read = (json: unknown) => fx.post(`${CARDS}/batch`, json, "viewer");

  it("are read one by one", async () => {
    const answer = await fx.get(`${CARDS}/c3`);
    expect(answer.body).toMatchObject({
      card_id: "c3",
      project_id: PROJECT,
      type: "task.instruction",
      content: { text: "c3" },
    });
    for (const card of ["none", "f0"]) {
      const missing = await fx.get(`${CARDS}/${card}`);
      expect([missing.status, missing.body.error_code]).toEqual([404, "card_not_found"]);
    }
  });

  it("are read in bulk, in the order they were asked for, with the missing ones named", async () => {
    const answer = await read({ card_ids: ["c2", "none", "c0", "f0", "c2"] });
    expect(answer.body.cards.map((card: { card_id: string }) => card.card_id)).toEqual(["c2", "c0"]);
    expect(answer.body.missing_ids).toEqual(["none", "f0"]);
  });

  it.each([
    ["card_ids", {}],
    ["card_ids", { card_ids: [] }],
    ["card_ids", { card_ids: ids(0, 101) }],
    ["card_ids/0", { card_ids: ["../x"] }],
    ["limit", { card_ids: ["c1"], limit: 1 }],
  ])("names %s when it does not fit", async (field, json) => {
    const answer = await read(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([400, field]);
  });
});
