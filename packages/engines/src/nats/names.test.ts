import { BusError } from "@tessera/kernel/ports";
import { describe, expect, test } from "vitest";
import { inboxOf } from "./connection.ts";
import { encodeMessage } from "./message.ts";
import { readAckSubject } from "./nats-delivery.ts";
import { durableName, streamOf } from "./topology.ts";
import { natsVersionAdvice } from "./version-advice.ts";

describe("names and numbers of NATS", () => {
  test("a durable's name that the broker takes is left alone", () => {
    expect(durableName("agent_worker_default_wakeup_v1r4")).toBe("agent_worker_default_wakeup_v1r4");
  });

  test("a name that had to be changed cannot meet another one", () => {
    const names = ["a.b", "a_b", "a b", "a*b", "", "_", "x".repeat(64), "x".repeat(65), "x".repeat(66)];
    const changed = names.map(durableName);
    expect(new Set(changed).size).toBe(names.length);
    for (const name of changed) expect(name).toMatch(/^[A-Za-z0-9_-]+$/);
  });

  test("a user's inbox is its own unless another is given, and a token", () => {
    expect(inboxOf({ user: "worker" })).toBe("_INBOX_worker");
    expect(inboxOf({ user: "a.>" })).toBe("_INBOX_a__");
    expect(inboxOf({ user: "worker", inboxPrefix: "_INBOX" })).toBe("_INBOX");
    expect(inboxOf({})).toBeUndefined();
  });

  test("streams are named as other implementations name them", () => {
    expect(streamOf({ version: "v1r4", category: "cmd" }).name).toBe("cg_cmd_v1r4");
    expect(streamOf({ version: "v1r3", category: "evt" }).name).toBe("cg_evt_v1r3");
  });

  test.each([
    ["2.9.10", "warning"],
    ["2.10.26", "warning"],
    ["2.10.27", "note"],
    ["2.11.0", "warning"],
    ["2.11.1", "note"],
    ["2.11.1-RC.1", "note"],
    ["2.12.2", "note"],
    ["2.12.3", undefined],
    ["3.0.0", undefined],
    ["", "warning"],
  ])("of a broker of version %s there is this to say: %s", (version, kind) => {
    expect(natsVersionAdvice(version)?.kind).toBe(kind);
  });

  test("deliveries and sequence are read from both forms of the ack subject", () => {
    const expected = { deliveries: 2, sequence: 17 };
    expect(readAckSubject("$JS.ACK.cg_cmd_v1r4.d.2.17.9.1700000000000000000.3")).toEqual(expected);
    expect(readAckSubject("$JS.ACK._.hash.cg_cmd_v1r4.d.2.17.9.1700000000000000000.3.rnd")).toEqual(expected);
    expect(readAckSubject("$JS.ACK._.hash.cg_cmd_v1r4.d.2.17.9.1700000000000000000.3")).toEqual(expected);
  });

  test.each([
    ["a colon in a name", { "a:b": "x" }],
    ["white space in a name", { "a b": "x" }],
    ["an empty name", { "": "x" }],
    ["a carriage return in a value", { a: "x\r\nNATS/1.0" }],
    ["a NUL in a value", { a: "\0" }],
  ])("%s is refused, not sent", (_what, headers) => {
    const message = { subject: "cg.v1r4.p.c.cmd.tool.t.run", headers, data: new Uint8Array() };
    expect(() => encodeMessage(message)).toThrow(BusError);
  });
});
