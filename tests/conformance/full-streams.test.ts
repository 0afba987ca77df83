// Streams of a broker that take nothing more: a publisher to one knows it, and only as long as it lasts.

import { DiscardPolicy, type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { openNatsBus } from "@tessera/engines/nats";
import type { Bus } from "@tessera/kernel/ports";
import { streamsKept } from "@tessera/protocol";
import { type NatsServer, startNats, waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

let server: NatsServer;
let nats: NatsConnection;
let jsm: JetStreamManager;
let bus: Bus;
beforeAll(async () => {
  server = await startNats();
  bus = await openNatsBus({ servers: server.url, warnsOfVersion: false, onWarning: () => undefined });
  nats = await connect({ servers: server.url });
  jsm = await jetstreamManager(nats);
});
afterAll(async () => {
  await Promise.all([bus.close(), nats.close()]);
  await server.stop();
});

const STREAMS = streamsKept().map(({ name, filter }) => ({
  name,
  filter,
  subject: filter.replaceAll("*", "p").replace(">", "tool.t.run"),
}));

test.each(STREAMS)(
  "a full $name is told by the one who publishes to it, and well again with room",
  async ({ name, subject }) => {
    const publish = () => bus.publish([{ subject, headers: {}, data: new Uint8Array(1) }]);
    const config = (await jsm.streams.info(name)).config;
    await jsm.streams.update(name, { ...config, max_msgs: 1, discard: DiscardPolicy.New });
    await waitFor(
      async () => {
        await publish().catch(() => undefined); // refused where the stream is known to be full
        return bus.health().refuses?.includes(`the stream ${name} of NATS refuses`);
      },
      { what: "the refusal to be known" },
    );
    await expect(publish()).rejects.toThrow(name);
    await jsm.streams.update(name, { ...config, max_msgs: 1_000, discard: DiscardPolicy.New });
    await waitFor(() => bus.health().refuses === undefined, { what: "room to be noticed" });
    await publish();
  },
);

test.each(STREAMS)(
  "a $name that is not there is told by the one who publishes to it",
  async ({ name, filter, subject }) => {
    await waitFor(
      async () => {
        await jsm.streams.delete(name).catch(() => undefined); // the bus makes it again when it looks
        await bus.publish([{ subject, headers: {}, data: new Uint8Array(1) }]).catch(() => undefined);
        return bus.health().refuses?.includes(`NATS has no stream ${name}`);
      },
      { what: "its absence to be known" },
    );
    await jsm.streams.add({ name, subjects: [filter] }).catch(() => undefined); // the bus was quicker
    await waitFor(() => bus.health().refuses === undefined, { what: "the stream to be noticed" });
  },
);
