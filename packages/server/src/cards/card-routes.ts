// Boxes and cards, one by one and in bulk.
//
//   C1. A box is read from its end: the last cards, in their order. Earlier ones follow by the cursor.
//   C2. What is asked for in bulk and is not there, or belongs to another project, is named as missing; the rest is answered.
//   C3. Boxes hold references: the cards of many boxes together are bounded, so that no answer is without measure. So are their
//       bytes: cards are read few at a time, and an answer that would hold more than ANSWER_CHARS_MAX is refused; a page ends early.

import type { CardDocument } from "@tessera/kernel";
import { CARD_CONTENT_BYTES_MAX, NotFound, parseId, TesseraError } from "@tessera/protocol";
import Type from "typebox";
import { LARGE_ANSWER_BYTES } from "../http/bytes-in-flight.ts";
import { bodyReader } from "../http/request-body.ts";
import { Anything, Count, closed, Facts, Id, named, orNull, Text, Time } from "../routing/api-schemas.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { pageOf, pageQuery } from "../routing/query-schemas.ts";
import { limitOf } from "../routing/query-values.ts";
import { existingProject } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, READERS, type RouteSpec } from "../routing/route-spec.ts";

const LIMIT = { max: 500, default: 200 };
const BATCH_MAX = 100;
const HYDRATED_CARDS_MAX = 2_000;
/** C3. A card may have a megabyte. */
const ANSWER_CHARS_MAX = LARGE_ANSWER_BYTES;
const READ_AT_ONCE = 32;

const BoxesWanted = Type.Object(
  {
    box_ids: Type.Array(Type.String(), { minItems: 1, maxItems: BATCH_MAX }),
    hydrate: Type.Optional(Type.Boolean({ default: false, description: "Answer the cards themselves, too." })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT.max, default: LIMIT.default })),
  },
  closed,
);
const CardsWanted = Type.Object({ card_ids: Type.Array(Type.String(), { minItems: 1, maxItems: BATCH_MAX }) }, closed);
const CARD_FIELDS = {
  card_id: Id,
  project_id: Id,
  type: Text,
  author_id: Text,
  content: Facts,
  metadata: Facts,
  tool_calls: Anything,
  tool_call_id: orNull(Id),
  ttl_seconds: orNull(Count),
  expires_at: orNull(Time),
  created_at: Time,
};
const CardSchema = named("Card", "A card: an immutable record of which everything else is a projection.", CARD_FIELDS);
const CardInBox = named("CardInBox", "A card with its place in a box.", { ...CARD_FIELDS, pos: Count });
const BoxDocument = named("Box", "The last cards of a box, in their order.", {
  box_id: Id,
  card_ids: Type.Array(Id),
  cards: Type.Optional(Type.Array(CardSchema)),
});
type PlacedCard = CardDocument & { readonly pos: number };

const readBoxesWanted = bodyReader(BoxesWanted);
const readCardsWanted = bodyReader(CardsWanted);

export function cardRoutes({ kernel, cursors }: ManagementDeps): RouteSpec[] {
  const { reads } = kernel;

  async function getBox(request: ApiRequest): Promise<ApiAnswer> {
    const limit = limitOf(request.query, LIMIT);
    const projectId = await existingProject(kernel, request);
    const boxId = request.param("box");
    const [tail] = await reads.boxTailIds(projectId, [boxId], limit); // C1
    if (tail === undefined) throw unknownBox(boxId);
    return { status: 200, body: { box_id: boxId, card_ids: tail.card_ids } };
  }

  async function listBoxCards(request: ApiRequest): Promise<ApiAnswer> {
    const limit = limitOf(request.query, LIMIT);
    const projectId = await existingProject(kernel, request);
    const boxId = request.param("box");
    const list = `box-cards/${projectId}/${boxId}`;
    const { cursor } = request.query;
    const before = cursor === undefined ? null : Number(cursors.read(list, cursor));
    if (before === null && (await reads.box(projectId, boxId)) === null) throw unknownBox(boxId);
    const { cards, from } = await tailBefore(projectId, boxId, before, limit);
    const next_cursor = from > 0 ? cursors.write(list, String(from)) : null;
    return { status: 200, body: { cards, next_cursor } };
  }

  /** The last cards before a place, and the place they begin at (C1). A place may still be empty: its call waits. */
  async function tailBefore(projectId: string, boxId: string, before: number | null, limit: number) {
    let { cards, from } = await piece(before, Math.min(limit, READ_AT_ONCE));
    let chars = charsOf(cards);
    for (let left = limit - READ_AT_ONCE; left > 0 && from > 0; left -= READ_AT_ONCE) {
      const earlier = await piece(from, Math.min(left, READ_AT_ONCE));
      chars += charsOf(earlier.cards);
      if (chars > ANSWER_CHARS_MAX) break; // C3: the next page begins with these
      cards = [...earlier.cards, ...cards];
      from = earlier.from;
    }
    return { cards, from };

    async function piece(end: number | null, count: number): Promise<{ cards: readonly PlacedCard[]; from: number }> {
      if (end === null) {
        const tail = await reads.boxTail(projectId, boxId, count);
        return { cards: tail, from: tail[0]?.pos ?? 0 };
      }
      const start = Math.max(0, end - count);
      const read = await reads.boxCards(projectId, boxId, { from: start, limit: count });
      return { cards: read.filter((card) => card.pos < end), from: start };
    }
  }

  async function readBoxes(request: ApiRequest): Promise<ApiAnswer> {
    const { box_ids, hydrate = false, limit = LIMIT.default } = await readBoxesWanted(request.body);
    for (const [n, boxId] of box_ids.entries()) parseId(boxId, `box_ids/${n}`);
    const projectId = await existingProject(kernel, request);
    const wanted = [...new Set(box_ids)];
    const found = new Map((await reads.boxTailIds(projectId, wanted, limit)).map((box) => [box.box_id, box.card_ids]));
    const cards = hydrate ? await cardsOf(projectId, [...found.values()].flat()) : null;
    const boxes = wanted.flatMap((box_id) => {
      const card_ids = found.get(box_id);
      if (card_ids === undefined) return [];
      const hydrated = cards === null ? {} : { cards: card_ids.flatMap((id) => cards.get(id) ?? []) };
      return [{ box_id, card_ids, ...hydrated }];
    });
    return {
      status: 200,
      body: {
        boxes,
        missing_box_ids: wanted.filter((id) => !found.has(id)), // C2
        missing_card_ids: cards === null ? [] : [...new Set([...found.values()].flat())].filter((id) => !cards.has(id)),
      },
    };
  }

  async function cardsOf(projectId: string, cardIds: readonly string[]): Promise<Map<string, CardDocument>> {
    const wanted = [...new Set(cardIds)];
    if (wanted.length > HYDRATED_CARDS_MAX) {
      throw new TesseraError(
        "payload_too_large",
        `these boxes hold more than ${HYDRATED_CARDS_MAX} cards; ask for fewer boxes, or with a smaller limit`,
        { details: { field: "limit" } },
      ); // C3
    }
    return new Map((await cardsAt(projectId, wanted)).map((card) => [card.card_id, card]));
  }

  /** C3 */
  async function cardsAt(projectId: string, cardIds: readonly string[]): Promise<CardDocument[]> {
    const cards: CardDocument[] = [];
    let chars = 0;
    for (let n = 0; n < cardIds.length; n += READ_AT_ONCE) {
      const some = await reads.cards(projectId, cardIds.slice(n, n + READ_AT_ONCE));
      chars += charsOf(some);
      if (chars > ANSWER_CHARS_MAX) {
        throw new TesseraError(
          "payload_too_large",
          "these cards are too large for one answer; ask for fewer at a time",
          {
            details: { chars_max: ANSWER_CHARS_MAX },
          },
        );
      }
      cards.push(...some);
    }
    return cards;
  }

  async function getCard(request: ApiRequest): Promise<ApiAnswer> {
    const projectId = await existingProject(kernel, request);
    const [card] = await reads.cards(projectId, [request.param("card")]);
    if (card !== undefined) return { status: 200, body: card };
    throw new NotFound(`there is no card ${request.param("card")} in this project`, {
      code: "card_not_found",
      details: { field: "card_id" },
    });
  }

  async function readCards(request: ApiRequest): Promise<ApiAnswer> {
    const { card_ids } = await readCardsWanted(request.body);
    for (const [n, cardId] of card_ids.entries()) parseId(cardId, `card_ids/${n}`);
    const projectId = await existingProject(kernel, request);
    const wanted = [...new Set(card_ids)];
    const cards = await cardsAt(projectId, wanted);
    const found = new Set(cards.map((card) => card.card_id));
    return { status: 200, body: { cards, missing_ids: wanted.filter((id) => !found.has(id)) } }; // C2
  }

  const boxes = "/projects/:project/boxes";
  const cards = "/projects/:project/cards";
  const { limit: limitQuery } = pageQuery(LIMIT.max, LIMIT.default);
  return [
    {
      id: "getBox",
      tag: "cards",
      summary: "Read the ids of the last cards of a box, in their order.",
      method: "GET",
      path: `${boxes}/:box`,
      roles: READERS,
      handle: getBox,
      query: { limit: limitQuery },
      answers: { 200: BoxDocument },
    },
    {
      id: "listBoxCards",
      answerBytes: LARGE_ANSWER_BYTES,
      tag: "cards",
      summary: "Read the last cards of a box, in their order; the cursor leads to earlier ones.",
      method: "GET",
      path: `${boxes}/:box/cards`,
      roles: READERS,
      handle: listBoxCards,
      query: pageQuery(LIMIT.max, LIMIT.default),
      answers: { 200: pageOf("cards", CardInBox) },
    },
    {
      id: "readBoxes",
      answerBytes: LARGE_ANSWER_BYTES,
      tag: "cards",
      summary: "Read the last card ids of up to 100 boxes, and with hydrate the cards.",
      method: "POST",
      path: `${boxes}/batch`,
      roles: READERS,
      handle: readBoxes,
      body: "json",
      bodySchema: BoxesWanted,
      answers: {
        200: Type.Object({
          boxes: Type.Array(BoxDocument),
          missing_box_ids: Type.Array(Id),
          missing_card_ids: Type.Array(Id),
        }),
      },
    },
    {
      id: "getCard",
      answerBytes: CARD_CONTENT_BYTES_MAX,
      tag: "cards",
      summary: "Read a card.",
      method: "GET",
      path: `${cards}/:card`,
      roles: READERS,
      answers: { 200: CardSchema },
      handle: getCard,
    },
    {
      id: "readCards",
      answerBytes: LARGE_ANSWER_BYTES,
      tag: "cards",
      summary: "Read up to 100 cards, in the order they were asked for.",
      method: "POST",
      path: `${cards}/batch`,
      roles: READERS,
      handle: readCards,
      body: "json",
      bodySchema: CardsWanted,
      answers: { 200: Type.Object({ cards: Type.Array(CardSchema), missing_ids: Type.Array(Id) }) },
    },
  ];
}

function charsOf(cards: readonly CardDocument[]): number {
  return cards.reduce((sum, card) => sum + JSON.stringify(card).length, 0);
}

function unknownBox(boxId: string): NotFound {
  return new NotFound(`there is no box ${boxId} in this project`, { details: { field: "box_id" } });
}
