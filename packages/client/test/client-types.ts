// What the compiler must accept and refuse in calls of the client. Nothing here is run: `tsc` is the test.

import type { Client, Event, StreamedEvent, Turn } from "../src/index.ts";

export async function accepted(client: Client, signal: AbortSignal): Promise<void> {
  await client.getHealth();
  await client.getHealth({ signal, timeoutMs: 1_000 });
  const turn: Turn = await client.getTurn({ project: "p", turn: "t", signal });
  turn.endedAt satisfies string | null;
  const { turns, nextCursor } = await client.listTurns({ project: "p", limit: 5 });
  turns[0]?.agentTurnId satisfies string | undefined;
  nextCursor satisfies string | null;
  const order = { project: "p", body: { agent: "a", input: "x" }, idempotencyKey: "k" };
  (await client.enqueueTurn(order)).agentTurnId satisfies string;
  await client.uploadTools({ project: "p", body: "tool_name: x" });
  await client.uploadTools({ project: "p", body: new Uint8Array() });
  (await client.deleteTool({ project: "p", tool: "t" })) satisfies undefined;
  (await client.getLlmsText()) satisfies string;
  await client.updateProject({ project: "p", body: { title: "x" }, ifMatch: '"1"' });
  for await (const event of client.streamEvents({ project: "p", after: 0, signal })) {
    event satisfies StreamedEvent<Event>;
  }
  (await client.waitForTurn({ project: "p", turn: "t", timeoutMs: 1 })) satisfies Turn;
}

export async function refused(client: Client): Promise<void> {
  // @ts-expect-error: the turn is missing
  await client.getTurn({ project: "p" });
  // @ts-expect-error: an argument is needed
  await client.listTurns();
  // @ts-expect-error: there is no such argument
  await client.getTurn({ project: "p", turn: "t", limit: 1 });
  // @ts-expect-error: the body is missing
  await client.enqueueTurn({ project: "p" });
  // @ts-expect-error: a field of the body has the wrong type
  await client.enqueueTurn({ project: "p", body: { agent: "a", input: 1 } });
  // @ts-expect-error: this operation has no idempotency key
  await client.getTurn({ project: "p", turn: "t", idempotencyKey: "k" });
  // @ts-expect-error: an upload is text or bytes
  await client.uploadTools({ project: "p", body: {} });
  // @ts-expect-error: a stream is not a promise
  client.streamEvents({ project: "p" }).then;
  // @ts-expect-error: nothing is left untyped
  (await client.getTurn({ project: "p", turn: "t" })).endedAt satisfies number;
}
