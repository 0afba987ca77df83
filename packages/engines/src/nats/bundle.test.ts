// Wakeups that share a message: what goes out, what comes in, and who answers for it.

import type { BusMessage, Delivery } from "@tessera/kernel/ports";
import { expect, test } from "vitest";
import { bundleWakeups, unbundle } from "./bundle.ts";

const WAKEUP = "cg.v1r4.p1.public.cmd.agent.default.wakeup";

function wakeup(agent: string, subject = WAKEUP): BusMessage {
  const headers = { "CG-Project-Id": "p1", "CG-Agent-Id": agent, "CG-Turn-Epoch": "7" };
  return { subject, headers, data: Uint8Array.of(0, 255, agent.charCodeAt(0)) };
}

/** A message as it arrives, which writes down how it was answered. */
function arrived(message: BusMessage): { delivery: Delivery; answers: string[] } {
  const answers: string[] = [];
  const delivery: Delivery = {
    ...message,
    deliveries: 1,
    ack: () => answers.push("ack"),
    nak: (delayMs = 0) => answers.push(`nak ${delayMs}`),
    term: () => answers.push("term"),
  };
  return { delivery, answers };
}

const contents = ({ subject, headers, data }: BusMessage) => ({ subject, headers: { ...headers }, data: [...data] });

test("wakeups of one subject share a message, and each arrives as it was sent", () => {
  const sent = ["a", "b", "c"].map((agent) => wakeup(agent));
  const bundles = bundleWakeups(sent);
  expect(bundles).toHaveLength(1);
  expect(bundles[0]?.headers).toMatchObject(sent[0]?.headers ?? {}); // for receivers that know nothing of bundles
  const { delivery } = arrived(bundles[0] as BusMessage);
  expect(unbundle(delivery).map(contents)).toEqual(sent.map(contents));
});

test("commands, events and wakeups of another subject or with other headers go alone, in order", () => {
  const command = wakeup("a", "cg.v1r4.p1.public.cmd.tool.echo.run");
  const other = wakeup("b", "cg.v1r4.p2.public.cmd.agent.default.wakeup");
  const unlike = { ...wakeup("c"), headers: { "CG-Agent-Id": "c" } };
  const sent = [command, command, wakeup("d"), other, wakeup("e"), unlike];
  expect(bundleWakeups(sent).map(contents)).toEqual(sent.map(contents));
});

test("a message holds at most 32 wakeups", () => {
  const bundles = bundleWakeups(Array.from({ length: 70 }, (_, n) => wakeup(`a${n}`)));
  expect(bundles.map((bundle) => unbundle(arrived(bundle).delivery).length)).toEqual([32, 32, 6]);
});

test("the message is acked when all its parts are answered, once", () => {
  const { delivery, answers } = arrived(bundleWakeups([wakeup("a"), wakeup("b")])[0] as BusMessage);
  const [first, second] = unbundle(delivery);
  first?.ack();
  first?.ack();
  expect(answers).toEqual([]);
  second?.term("not ours");
  second?.nak();
  expect(answers).toEqual(["ack"]);
});

test("one part that asks for redelivery has the message repeated, after the longest delay", () => {
  const { delivery, answers } = arrived(bundleWakeups(["a", "b", "c"].map((a) => wakeup(a)))[0] as BusMessage);
  const parts = unbundle(delivery);
  parts[0]?.nak(50);
  parts[1]?.ack();
  parts[2]?.nak(20);
  expect(answers).toEqual(["nak 50"]);
});

test.each(["", "{}", "[1]", "[[null,3]]", '[[{"a":1},""]]', '[["a"'])("the header %j adds no part", (also) => {
  const message = wakeup("a");
  const { delivery, answers } = arrived({ ...message, headers: { ...message.headers, "Tessera-Also": also } });
  const parts = unbundle(delivery);
  expect(parts).toHaveLength(1);
  parts[0]?.ack();
  expect(answers).toEqual(["ack"]);
});
