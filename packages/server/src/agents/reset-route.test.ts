// Beginning a conversation anew over HTTP: what it leaves, who did it, and that asking twice does it once.

import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();

async function agent(agent_id: string): Promise<string> {
  await fx.post(`/projects/${PROJECT}/agents`, { agent_id, worker_target: "workers" });
  return agent_id;
}
const reset = (agentId: string, json?: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fx.send("POST", `/projects/${PROJECT}/agents/${agentId}/reset`, {
    key: "operator",
    headers,
    ...(json ? { json } : {}),
  });

describe("resetting an agent", () => {
  it("leaves a card that says who and why, and later turns begin behind it", async () => {
    const [call] = await fx.suspended(); // turn 1 of its agent
    const agent_id = call?.agent_id ?? "";
    const answer = await reset(agent_id, { reason: "another customer" });
    expect(answer.status, answer.text).toBe(200);
    const { card_id } = answer.body;
    expect(answer.body).toEqual({ agent_id, card_id, conversation_from: 2 });
    const [card] = await fx.kernel.reads.cards(PROJECT, [card_id]);
    expect(card).toMatchObject({
      type: "agent.reset",
      author_id: fx.keyIds.operator,
      content: { data: { agent_id, conversation_from: 2, reason: "another customer" } },
    });
    const running = await fx.get(`/projects/${PROJECT}/turns/${call?.agent_turn_id}`);
    expect(running.body).toMatchObject({ status: "suspended", turn_number: 1, conversation_from: 1 });
  });

  it("needs no body, and is another reset each time that it has no key", async () => {
    const agent_id = await agent("twice");
    const cards = [(await reset(agent_id)).body.card_id, (await reset(agent_id)).body.card_id];
    expect(new Set(cards).size).toBe(2);
  });

  it("H13: again with the same Idempotency-Key is the same reset, and another request with it a conflict", async () => {
    const agent_id = await agent("once-reset");
    const other = await agent("other-reset");
    const headers = { "idempotency-key": "r1" };
    const first = await reset(agent_id, { reason: "a" }, headers);
    expect(first.status, first.text).toBe(200);
    const before = await fx.everything();
    expect(await reset(agent_id, { reason: "a" }, headers)).toMatchObject({ status: 200, body: first.body });
    for (const again of [
      await reset(agent_id, { reason: "b" }, headers),
      await reset(agent_id, undefined, headers),
      await reset(other, { reason: "a" }, headers),
    ]) {
      expect(again, again.text).toMatchObject({ status: 409, body: { error_code: "conflict" } });
    }
    expect(await fx.everything()).toBe(before);
  });

  it("is noted for the audit with the card that it left", async () => {
    const { card_id } = (await reset(await agent("noted"))).body;
    const note = async () => {
      const rows = await fx.store.database.query<{ principal: string; detail: { agent: string; card: string } }>(
        "select principal, detail from state.audit_log where kind = 'api.resetAgent' and detail ->> 'agent' = 'noted'",
      );
      return rows[0];
    };
    await expect.poll(note).toMatchObject({ principal: fx.keyIds.operator, detail: { agent: "noted", card: card_id } });
  });

  it("of an agent or a project that does not exist is 404, with a body that does not fit 400", async () => {
    expect(await reset("nobody")).toMatchObject({ status: 404, body: { error_code: "agent_not_found" } });
    const path = `/projects/${OTHER}/agents/${await agent("here")}/reset`;
    expect((await fx.send("POST", path, { key: "admin" })).status).toBe(404);
    for (const json of [{ reason: 1 }, { reason: "x".repeat(1_001) }, { author_id: "me" }]) {
      expect((await reset("here", json)).status).toBe(400);
    }
    expect((await reset("here", {}, { "idempotency-key": "k".repeat(257) })).status).toBe(400);
  });
});
