import { describe, expect, it } from "vitest";
import { storePlace } from "../store/store-place.ts";
import { natsConnection, openBus } from "./open-bus.ts";

describe("a NATS URL", () => {
  it.each([
    ["nats://a:4222", { servers: ["nats://a:4222"] }],
    ["nats://a:4222, nats://b:4222", { servers: ["nats://a:4222", "nats://b:4222"] }],
    ["tls://me:p%40ss@a", { servers: ["tls://a"], user: "me", pass: "p@ss" }],
    ["nats://t0ken@a", { servers: ["nats://a"], token: "t0ken" }],
    ["nats://me:x@a?inbox_prefix=_IN", { servers: ["nats://a"], user: "me", pass: "x", inboxPrefix: "_IN" }],
  ])("is read as its servers and credentials: %s", (url, connection) => {
    expect(natsConnection(url)).toEqual(connection);
  });

  it.each([["http://me:secret@a"], ["a:4222"], [""], ["nats://a,"]])("is refused without repeating it: %s", (url) => {
    expect(() => natsConnection(url)).toThrow(/should look like nats:\/\/host:4222$/);
  });
});

it("an embedded store gets the bus of this process", async () => {
  const bus = await openBus(storePlace({}), { onWarning: () => {} });
  expect(bus.capabilities.kind).toBe("memory");
  await bus.close();
});
