import type { NatsConnection } from "@nats-io/transport-node";
import { beforeEach, expect, test } from "vitest";
import { LateAcks } from "./late-acks.ts";

let sent: string[] = [];
let isClosed = false;
const nc = { isClosed: () => isClosed, publish: (subject: string) => void sent.push(subject) } as NatsConnection;
const loop = () => new Promise<void>((resolve) => setImmediate(resolve));

beforeEach(() => {
  sent = [];
  isClosed = false;
});

test("what the event loop does next comes before the acknowledgement, and one write carries all of them", async () => {
  const acks = new LateAcks(nc);
  acks.add("a");
  acks.add("b");
  setImmediate(() => sent.push("a statement"));
  await loop();
  expect(sent).toEqual(["a statement"]);
  await loop();
  expect(sent).toEqual(["a statement", "a", "b"]);
});

test("what waits is sent at once for a caller about to close, and only once", async () => {
  const acks = new LateAcks(nc);
  acks.add("a");
  acks.send();
  expect(sent).toEqual(["a"]);
  acks.add("b");
  await loop();
  await loop();
  expect(sent).toEqual(["a", "b"]);
});

test("a connection that was closed meanwhile is left alone", async () => {
  const acks = new LateAcks(nc);
  acks.add("a");
  isClosed = true;
  await loop();
  await loop();
  expect(sent).toEqual([]);
});
