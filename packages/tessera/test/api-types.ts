// What the compiler must accept and refuse in a program that embeds Tessera. Nothing here is run: `tsc` is the test.

import { z } from "zod";
import {
  type AskedTurn,
  createTessera,
  defineTool,
  type ErrorCode,
  type Tessera,
  TesseraError,
  type ToolCallAnswer,
  type TurnAnswer,
} from "../src/index.ts";

type Json = Extract<ToolCallAnswer, { status: "success" }>["result"];

const double = defineTool({
  name: "double",
  parameters: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  handler: (_ctx, { n }) => ({ twice: n * 2 }),
});
/** Its check transforms: what a caller gives is not what the handler gets. */
const since = defineTool({
  name: "since",
  parameters: z.object({ day: z.string().transform((day) => new Date(day)), zone: z.string().default("UTC") }),
  handler: async (_ctx, { day, zone }) => `${day.getTime()} ${zone.toUpperCase()}`,
});
const filled = defineTool({
  name: "filled",
  parameters: {
    type: "object",
    properties: { city: { type: "string" }, unit: { type: "string" }, key: { type: "string" } },
    required: ["city", "unit", "key"],
  },
  args: { defaults: { unit: "C" } },
  envs: { key: "WEATHER_KEY" },
  handler: (_ctx, { city, unit, key }) => [city, unit, key],
});
const plain = defineTool({ name: "plain", handler: () => null });

export async function accepted(tessera: Tessera): Promise<void> {
  const call = await tessera.callTool(double, { n: 4 }, { waitMs: 1_000, idempotencyKey: "k", agentId: "a" });
  if (call.status === "success") {
    call.result satisfies { twice: number };
    call.error satisfies null;
  } else if (call.status === "waiting") call.result satisfies null;
  else call.error?.code satisfies string | undefined;
  call.agentTurnId satisfies string;
  (await tessera.callTool(since, { day: "2026-05-01" })) satisfies ToolCallAnswer<string>;
  (await tessera.callTool(filled, { city: "Porto" })) satisfies ToolCallAnswer<string[]>;
  (await tessera.callTool(filled, { city: "Porto", unit: "F" })) satisfies ToolCallAnswer<string[]>;
  (await tessera.callTool(plain)) satisfies ToolCallAnswer<null>;
  const byName = await tessera.callTool("double", { anything: 1 });
  byName satisfies ToolCallAnswer;
  if (byName.status === "success") byName.result satisfies Json;

  const asked: AskedTurn = await tessera.enqueue({ input: "x", instanceKey: "k", isFresh: true, channelId: "c" });
  (await tessera.turn(asked.agentTurnId)) satisfies TurnAnswer;
  const turn = await tessera.run({ input: "x", deliverable: z.object({ n: z.number() }), waitMs: 5 });
  if (turn.status === "success") turn.deliverable.n satisfies number;
  const described = { type: "object", properties: { s: { type: "string" } }, required: ["s"] } as const;
  const later = await tessera.turn(asked.agentTurnId, { deliverable: described });
  if (later.status === "success") later.deliverable satisfies { s: string };
  await createTessera({ tools: [double, since, filled, plain] });
}

export function known(error: unknown): ErrorCode | null {
  if (!TesseraError.is(error)) return null;
  switch (error.code) {
    case "not_found":
    case "deliverable_invalid":
      return error.code;
    // @ts-expect-error: there is no such code
    case "not_fuond":
      return null;
    default:
      return error.code;
  }
}

export async function refused(tessera: Tessera): Promise<void> {
  // @ts-expect-error: an argument has the wrong type
  await tessera.callTool(double, { n: "four" });
  // @ts-expect-error: the arguments are missing
  await tessera.callTool(double);
  // @ts-expect-error: there is no such argument
  await tessera.callTool(double, { n: 1, m: 2 });
  // @ts-expect-error: what the handler gets is not what a caller gives
  await tessera.callTool(since, { day: new Date() });
  // @ts-expect-error: what its definition does not fill in is needed
  await tessera.callTool(filled, { unit: "F" });
  // @ts-expect-error: arguments are an object
  await tessera.callTool("double", "four");
  // @ts-expect-error: the spelling of the wire
  await tessera.callTool(double, { n: 4 }, { idempotency_key: "k" });
  // @ts-expect-error: the spelling of the wire
  await tessera.run({ input: "x", instance_key: "k" });
  const call = await tessera.callTool(double, { n: 4 });
  // @ts-expect-error: whether it succeeded has to be asked first
  call.result.twice;
  if (call.status === "success") {
    // @ts-expect-error: the handler returns no such field
    call.result.thrice;
  }
  const turn = await tessera.run({ input: "x" });
  // @ts-expect-error: without a schema it may be any JSON
  turn.deliverable.n;
  const typed = await tessera.run({ input: "x", deliverable: z.object({ n: z.number() }) });
  // @ts-expect-error: the schema says a number
  if (typed.status === "success") typed.deliverable.n satisfies string;
}
