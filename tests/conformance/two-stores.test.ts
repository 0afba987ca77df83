// Two stores on one broker with a project of one name: what each rings for is heard by its own members only.

import { type JetStreamManager, jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { openNatsBus } from "@tessera/engines/nats";
import type { Bus } from "@tessera/kernel/ports";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { listen, newScope, type Scope } from "../../packages/testkit/src/bus-conformance.ts";

const STREAM = "cg_cmd_v1r4";
const FIRST = `store_${"1".repeat(32)}`;
const SECOND = `store_${"2".repeat(32)}`;
const ROUNDS = 20;

let nats: NatsConnection;
let jsm: JetStreamManager;
beforeAll(async () => {
  nats = await connect({ servers: inject("natsUrl") });
  jsm = await jetstreamManager(nats);
});
afterAll(() => nats.close());

async function open(storeId: string | undefined, warnings: string[] = []): Promise<Bus> {
  const onWarning = (text: string) => void warnings.push(text);
  const bus = await openNatsBus({ servers: inject("natsUrl"), warnsOfVersion: false, onWarning, storeId });
  onTestFinished(() => bus.close());
  return bus;
}

const infoOf = (scope: Scope, suffix = "") => jsm.consumers.info(STREAM, `${scope.durable()}${suffix}`);
const rounds = (store: string) => Array.from({ length: ROUNDS }, (_, n) => `${store} ${n}`);

test("each hears all of its own and nothing of the other, on a durable of its own, and both say that they met", async () => {
  const scope = newScope();
  const warnings: string[] = [];
  const first = await open(FIRST);
  const second = await open(SECOND, warnings);
  const atFirst = await listen(first, scope.all());
  const atSecond = await listen(second, scope.all());
  for (let n = 0; n < ROUNDS; n++) {
    await first.publish([scope.message("run", `first ${n}`)]);
    await second.publish([scope.message("run", `second ${n}`)]);
  }
  await atFirst.count(ROUNDS);
  await atSecond.count(ROUNDS);
  // What is behind the last round is passed over by the other one before that: so nothing of it can be on its way.
  const left = async (suffix = "") => {
    const { num_pending, num_ack_pending } = await infoOf(scope, suffix);
    return num_pending + num_ack_pending;
  };
  await waitFor(async () => (await left()) + (await left("_22222222")) === 0, { what: "both durables to be empty" });
  expect(atFirst.texts()).toEqual(rounds("first"));
  expect(atSecond.texts()).toEqual(rounds("second"));
  expect((await infoOf(scope)).config.description).toBe(`tessera ${FIRST}`);
  expect((await infoOf(scope, "_22222222")).config.description).toBe(`tessera ${SECOND}`);
  expect([first.health().neighbours, second.health().neighbours]).toEqual([[], [FIRST]]);
  expect(warnings.join()).toContain(`serves ${FIRST}, another store on this broker`);
});

test("one that makes its durable at the same moment as the other finds out, and they part", async () => {
  const scope = newScope();
  const first = await open(FIRST);
  const atFirst = await listen(first, scope.all());
  // As if the other one had made it, too: the later description is what counts.
  await jsm.consumers.update(STREAM, scope.durable(), { description: `tessera ${SECOND}` });
  const second = await open(SECOND);
  const atSecond = await listen(second, scope.all());
  expect(second.health().neighbours).toEqual([]);
  await waitFor(
    async () => {
      await second.publish([scope.message("run", "found out")]); // heard by the first as another's: it looks again
      return first.health().neighbours?.includes(SECOND) === true;
    },
    { what: "the first to find out", intervalMs: 50 },
  );
  await waitFor(
    async () => (await jsm.consumers.list(STREAM).next()).some(({ name }) => name === `${scope.durable()}_11111111`),
    {
      what: "its durable",
    },
  );
  await first.publish([scope.message("run", "first")]);
  await second.publish([scope.message("run", "second")]);
  await atFirst.until("first");
  await atSecond.until("second");
  expect(atFirst.texts()).toEqual(["first"]);
  expect(new Set(atSecond.texts())).toEqual(new Set(["found out", "second"]));
});

test("a durable of an older build is taken over as it is: nothing that waits in it is lost, and none is left over", async () => {
  const scope = newScope();
  const older = await open(undefined);
  const then = await listen(older, scope.all());
  await older.publish([scope.message("run", "heard by the older build")]);
  await then.count(1);
  await older.close();
  await nats.flush();
  nats.publish(scope.subject("run"), "while no member was there");
  await nats.flush();
  const bus = await open(FIRST);
  const heard = await listen(bus, scope.all());
  await heard.until("while no member was there");
  expect(heard.texts()).toEqual(["while no member was there"]);
  const names = (await jsm.consumers.list(STREAM).next()).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith(scope.durable()))).toEqual([scope.durable()]);
  expect((await infoOf(scope)).config.description).toBe(`tessera ${FIRST}`);
});

test("a message without a store, as user interfaces send them, is for the store that has the published name", async () => {
  const scope = newScope();
  const atFirst = await listen(await open(FIRST), scope.all());
  const second = await open(SECOND);
  const atSecond = await listen(second, scope.all());
  nats.publish(scope.subject("run"), "from elsewhere");
  await atFirst.until("from elsewhere");
  await second.publish([scope.message("run", "its own")]);
  await atSecond.until("its own");
  expect(atSecond.texts()).toEqual(["its own"]);
});

test("who listens without a durable hears its own store and leaves nothing on the broker", async () => {
  const scope = newScope();
  const first = await open(FIRST);
  const second = await open(SECOND);
  const before = (await jsm.streams.info(STREAM)).state.consumer_count;
  const { pattern } = scope.all();
  const atFirst = await listen(first, { pattern });
  const again = await listen(first, { pattern });
  await second.publish([scope.message("run", "second")]);
  await first.publish([scope.message("run", "first")]);
  await atFirst.until("first");
  await again.until("first");
  expect([atFirst.texts(), again.texts()]).toEqual([["first"], ["first"]]);
  expect((await jsm.streams.info(STREAM)).state.consumer_count).toBe(before);
});

test("commands to a peer of version v1r3 are kept by a stream that every broker is given", async () => {
  const scope = newScope();
  const bus = await open(FIRST);
  const subject = scope.subject("run").replace("cg.v1r4.", "cg.v1r3.");
  await bus.publish([{ subject, headers: {}, data: new TextEncoder().encode("old") }]);
  const old = await jsm.consumers.add("cg_cmd_v1r3", { ack_policy: "explicit", filter_subject: subject });
  await waitFor(async () => (await jsm.consumers.info("cg_cmd_v1r3", old.name)).num_pending === 1, {
    what: "the command",
  });
  await jsm.consumers.delete("cg_cmd_v1r3", old.name);
});
