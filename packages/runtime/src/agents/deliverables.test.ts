// Deliverables with a schema: what the model is told, what it has to correct, and what a program gets.

import { afterEach, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { createTessera, type Tessera } from "../create-tessera.ts";
import { defineAgent, defineModel } from "../index.ts";

const opened: Tessera[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((tessera) => tessera.close({ graceMs: 0 })));
});

type Reply = { readonly text: string } | { readonly toolCalls: readonly { name: string; arguments: object }[] };

const submit = (result: object): Reply => ({ toolCalls: [{ name: "submit_result", arguments: { result } }] });

/** An agent that says one reply after the other. */
async function open(...replies: readonly Reply[]): Promise<Tessera> {
  const rules = replies.map((reply, step) => ({ when: { step }, reply }));
  const model = defineModel({ name: "script", provider: "scripted", options: { rules } });
  const tessera = await createTessera({
    models: [model],
    agents: [defineAgent({ name: "clerk", model, maxSteps: 4 })],
    log: () => {},
  });
  opened.push(tessera);
  return tessera;
}

const Offer = z.object({
  hotel: z.string(),
  price: z.number().describe("For a night"),
  stars: z.number().int().optional(),
  until: z.iso.date().transform((day) => new Date(`${day}T00:00:00Z`)),
});
const GOOD = { hotel: "Sol", price: 80, until: "2026-05-01" };

it("have the type and the value that the schema makes of them", async () => {
  const tessera = await open(submit(GOOD));
  const turn = await tessera.run({ input: "go", deliverable: Offer });
  if (turn.status !== "success") throw new Error(turn.status);
  expectTypeOf(turn.deliverable).toEqualTypeOf<z.output<typeof Offer>>();
  expect(turn.deliverable).toEqual({ hotel: "Sol", price: 80, until: new Date("2026-05-01T00:00:00Z") });
  const later = await tessera.turn(turn.agentTurnId, { deliverable: Offer });
  expect(later).toEqual(turn);
});

it("are corrected by the model, which is told the schema's words", async () => {
  const tessera = await open(
    { text: "The Sol, for 80." },
    submit({ hotel: "Sol", price: "80" }),
    submit({ fields: Object.entries(GOOD).map(([name, value]) => ({ name, value })) }),
  );
  const { agentTurnId } = await tessera.enqueue({ input: "go", deliverable: Offer });
  const turn = await tessera.turn(agentTurnId, { waitMs: 20_000, deliverable: Offer });
  expect(turn).toMatchObject({ status: "success", deliverable: { hotel: "Sol", price: 80 } });
});

it("may be of a JSON Schema, whose types are read off it", async () => {
  const tessera = await open(submit({ city: 7 }), submit({ city: "Porto", nights: [1, 2] }));
  const turn = await tessera.run({
    input: "go",
    deliverable: {
      type: "object",
      properties: { city: { enum: ["Porto", "Faro"] }, nights: { type: "array", items: { type: "integer" } } },
      required: ["city"],
    },
  });
  if (turn.status !== "success") throw new Error(turn.status);
  expectTypeOf(turn.deliverable).toEqualTypeOf<{ city: "Porto" | "Faro"; nights?: number[] }>();
  expect(turn.deliverable).toEqual({ city: "Porto", nights: [1, 2] });
});

it("that never fit end the turn without success, and are no success of a type", async () => {
  const tessera = await open(...Array.from({ length: 4 }, () => submit({ hotel: "Sol" })));
  const turn = await tessera.run({ input: "go", deliverable: Offer });
  expect(turn).toMatchObject({ status: "partial", error: { code: "max_steps_reached" } });
});

it("of a shape that was not asked for are refused with what does not fit", async () => {
  const tessera = await open({ text: "The Sol." });
  const { agentTurnId } = await tessera.run({ input: "go" });
  await expect(tessera.turn(agentTurnId, { deliverable: Offer })).rejects.toMatchObject({
    code: "deliverable_invalid",
    details: { agent_turn_id: agentTurnId },
    message: expect.stringContaining("/: must be an object, as submit_result hands it over"),
  });
});

it("that only the schema's own check refuses are told with their places", async () => {
  const Even = z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") });
  const tessera = await open(submit({ n: 3 }));
  await expect(tessera.run({ input: "go", deliverable: Even })).rejects.toMatchObject({
    code: "deliverable_invalid",
    message: expect.stringMatching(/^what the turn turn_\w+ delivered does not fit the schema: \/n: must be even$/),
  });
});

it("of a schema that cannot be one are refused before anything is asked", async () => {
  const tessera = await open({ text: "never said" });
  await expect(tessera.run({ input: "go", deliverable: z.string() })).rejects.toMatchObject({
    code: "schema_invalid",
    message: 'the schema of the deliverable must describe an object, but have type "string"',
  });
  const both = { input: "go", deliverable: Offer, resultFields: [{ name: "a", description: "" }] };
  await expect(tessera.run(both)).rejects.toMatchObject({ code: "bad_request" });
});
