// What every adapter of the `Bus` port must do, as a suite: a new adapter passes it before it is wired.
//
// Method: each test works on subjects and durables of its own, so one server serves all. Tests wait for conditions with
// a deadline and never sleep. That something did NOT happen is shown by a fence: a later message, or a second listener,
// that could only have arrived after it.

import { randomBytes } from "node:crypto";
import type { Bus, BusHeaders, BusMessage, Delivery, SubscribeOptions } from "@tessera/kernel/ports";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

export interface BusUnderTest {
  readonly open: () => Promise<Bus>;
  /** Another client of the same bus, as another process would open it. Absent where there is only one process. */
  readonly openSecond?: () => Promise<Bus>;
}

const WAIT_MS = 15_000;
const DELIVER_MAX = 3;

export function busConformance(name: string, { open, openSecond }: BusUnderTest): void {
  describe(`${name}, as a bus`, { timeout: 2 * WAIT_MS }, () => {
    let bus: Bus;
    let scope: Scope;

    beforeEach(async () => {
      bus = await open();
      scope = newScope();
    });
    afterEach(() => bus.close());

    describe("delivery", () => {
      test("messages of one publisher arrive in the order of publishing", async () => {
        const heard = await listen(bus, scope.all());
        const sent: string[] = [];
        for (let batch = 0; batch < 20; batch++) {
          const texts = Array.from({ length: 10 }, (_, index) => `${batch}.${index}`);
          sent.push(...texts);
          await bus.publish(texts.map((text) => scope.message("run", text)));
        }
        await heard.count(sent.length);
        expect(heard.texts()).toEqual(sent);
      });

      test("`*` matches one token and `>` the rest", async () => {
        const one = await listen(bus, { pattern: scope.subject("*"), durable: scope.durable("one") });
        const rest = await listen(bus, { pattern: scope.subject("a.>"), durable: scope.durable("rest") });
        for (const suffix of ["a", "a.b", "a.b.c", "b", "b.a", "end", "a.end"]) {
          await bus.publish([scope.message(suffix, suffix)]);
        }
        await one.until("end");
        await rest.until("a.end");
        expect(one.texts()).toEqual(["a", "b", "end"]);
        expect(rest.texts()).toEqual(["a.b", "a.b.c", "a.end"]);
      });

      test("headers keep their names' casing and their values, and several lines stay one entry", async () => {
        const heard = await listen(bus, scope.all());
        const headers: BusHeaders = {
          "CG-Project-Id": "p1",
          traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          "x-CASE-Mixed": 'quotes " and : colons',
          "X-Lines": "first\nsecond",
          "X-Text": "Grüße, 世界",
          "X-Empty": "",
        };
        await bus.publish([{ ...scope.message("run", "1"), headers }]);
        await heard.count(1);
        expect({ ...heard.deliveries[0]?.headers }).toEqual(headers);
      });

      test("data arrives byte for byte, empty and binary too", async () => {
        const heard = await listen(bus, scope.all());
        const bodies = [
          new Uint8Array(),
          Uint8Array.from({ length: 256 }, (_, index) => index),
          new TextEncoder().encode('{"a":"\\u0000 ü\n"}'),
          Uint8Array.of(0xff, 0xfe, 0x00),
        ];
        await bus.publish(bodies.map((data) => ({ subject: scope.subject("run"), headers: {}, data })));
        await heard.count(bodies.length);
        expect(heard.deliveries.map(({ data }) => Buffer.from(data).toString("hex"))).toEqual(
          bodies.map((data) => Buffer.from(data).toString("hex")),
        );
      });

      test("equal messages are all delivered", async () => {
        const heard = await listen(bus, scope.all());
        await bus.publish([scope.message("run", "same"), scope.message("run", "same"), scope.message("run", "same")]);
        await heard.count(3);
      });

      test("no handler runs inside the call that publishes", async () => {
        const heard = await listen(bus, scope.all());
        const published = bus.publish([scope.message("run", "1")]);
        expect(heard.deliveries).toHaveLength(0);
        await published;
        await heard.count(1);
      });

      test("a handler may publish", async () => {
        const heard = await listen(bus, scope.all(), async (delivery) => {
          if (textOf(delivery) === "first") await bus.publish([scope.message("run", "second")]);
        });
        await bus.publish([scope.message("run", "first")]);
        await heard.until("second");
      });

      test("a publish without a subscriber resolves", async () => {
        await bus.publish([scope.message("run", "into the void")]);
        await bus.publish([]);
      });
    });

    describe("durables", () => {
      test("two durables both hear every message", async () => {
        const left = await listen(bus, scope.all("left"));
        const right = await listen(bus, scope.all("right"));
        await bus.publish([scope.message("run", "1"), scope.message("run", "2")]);
        await Promise.all([left.count(2), right.count(2)]);
      });

      test("two members of a durable in one process share: both work at once, none hears the other's message", async () => {
        const gate = newGate();
        const options = { ...scope.all(), inFlightMax: 1 };
        const first = await listen(bus, options, () => gate.opened);
        const second = await listen(bus, options, () => gate.opened);
        await bus.publish(["1", "2", "3", "4"].map((text) => scope.message("run", text)));
        await eventually(() => expect([first.deliveries.length, second.deliveries.length]).toEqual([1, 1]));
        gate.open();
        await eventually(() => expect([...first.texts(), ...second.texts()].sort()).toEqual(["1", "2", "3", "4"]));
      });

      if (openSecond !== undefined) {
        test("members in two processes share, or all hear, as the bus declares", async () => {
          const other = await openSecond();
          onTestFinished(() => other.close());
          const here = await listen(bus, scope.all());
          const there = await listen(other, scope.all());
          const texts = Array.from({ length: 100 }, (_, index) => `${index}`);
          for (const text of texts) await bus.publish([scope.message("run", text)]);
          const together = (): string[] => [...here.texts(), ...there.texts()];
          await eventually(() => expect(new Set(together())).toEqual(new Set(texts)));
          if (bus.capabilities.exclusiveDurables) expect(together()).toHaveLength(texts.length);
          else {
            await eventually(() => expect(together()).toHaveLength(2 * texts.length));
            expect(here.texts()).toEqual(texts);
          }
        });
      }

      test("a message for a durable without members waits for the next one, where the bus declares it", async () => {
        const before = await listen(bus, scope.all());
        await bus.publish([scope.message("run", "before")]);
        await before.count(1);
        await before.stop();
        await bus.publish([scope.message("run", "absent")]);
        const after = await listen(bus, scope.all());
        await bus.publish([scope.message("run", "after")]);
        await after.until("after");
        expect(after.texts()).toEqual(bus.capabilities.keepsForAbsent ? ["absent", "after"] : ["after"]);
      });

      test("a second pattern for a durable is refused", async () => {
        await listen(bus, scope.all());
        const other = { pattern: scope.subject("other"), durable: scope.all().durable };
        await expect(bus.subscribe(other, () => {})).rejects.toMatchObject({ kind: "refused" });
      });
    });

    describe("answers", () => {
      test("a nak brings the message back and the deliveries are counted", async () => {
        const heard = await listen(bus, scope.all(), (delivery) => {
          if (delivery.deliveries === 1) delivery.nak();
        });
        await bus.publish([scope.message("run", "1")]);
        await heard.count(2);
        expect(heard.deliveries.map(({ deliveries }) => deliveries)).toEqual([1, 2]);
        expect(heard.texts()).toEqual(["1", "1"]);
      });

      test("a nak with a delay brings it back no earlier", async () => {
        const delayMs = 150;
        const atMs: number[] = [];
        const heard = await listen(bus, scope.all(), (delivery) => {
          atMs.push(performance.now());
          if (delivery.deliveries === 1) delivery.nak(delayMs);
        });
        await bus.publish([scope.message("run", "1")]);
        await heard.count(2);
        expect((atMs[1] ?? 0) - (atMs[0] ?? 0)).toBeGreaterThan(delayMs * 0.9);
      });

      test("a handler that throws, at once or later, meets its message again", async () => {
        const heard = await listen(bus, scope.all(), (delivery) => {
          if (delivery.deliveries > 1) return;
          if (textOf(delivery) === "at once") throw new Error("injected");
          return Promise.reject(new Error("injected"));
        });
        await bus.publish([scope.message("run", "at once"), scope.message("run", "later")]);
        await heard.count(4);
        expect(heard.texts().sort()).toEqual(["at once", "at once", "later", "later"]);
      });

      test("a term ends the message, and only the first answer counts", async () => {
        const heard = await listen(bus, scope.all(), (delivery) => {
          if (textOf(delivery) === "poison") {
            delivery.term("of no use");
            delivery.nak();
          } else if (delivery.deliveries === 1) delivery.nak(); // the fence: what is redelivered passes the poison's place
        });
        await bus.publish([scope.message("run", "poison"), scope.message("run", "fence")]);
        await heard.count(3);
        expect(heard.texts()).toEqual(["poison", "fence", "fence"]);
      });

      test("a message that always fails is given up, and others go on", async () => {
        const failing = (delivery: Delivery): void => {
          if (textOf(delivery) === "poison" || delivery.deliveries < DELIVER_MAX) throw new Error("injected");
        };
        const heard = await listen(bus, scope.all(), failing);
        const times = (text: string): number => heard.texts().filter((each) => each === text).length;
        await bus.publish([scope.message("run", "poison")]);
        await eventually(() => expect(times("poison")).toBe(DELIVER_MAX));
        // The fence fails as often as it may, so its last delivery is later than any fourth one of the poison.
        await bus.publish([scope.message("run", "fence")]);
        await eventually(() => expect(times("fence")).toBe(DELIVER_MAX));
        expect(times("poison")).toBe(DELIVER_MAX);
      });

      test("no more than inFlightMax deliveries are unanswered at once", async () => {
        const gate = newGate();
        const fence = await listen(bus, scope.all("fence"));
        let running = 0;
        let runningMax = 0;
        const heard = await listen(bus, { ...scope.all(), inFlightMax: 3 }, async () => {
          running += 1;
          runningMax = Math.max(runningMax, running);
          await gate.opened;
          running -= 1;
        });
        await bus.publish(Array.from({ length: 10 }, (_, index) => scope.message("run", `${index}`)));
        await fence.count(10);
        await heard.count(3);
        expect(running).toBe(3);
        gate.open();
        await heard.count(10);
        expect(runningMax).toBe(3);
      });

      test("an ack frees the hand although the handler goes on", async () => {
        const gate = newGate();
        const heard = await listen(bus, { ...scope.all(), inFlightMax: 1 }, async (delivery) => {
          delivery.ack();
          await gate.opened;
        });
        await bus.publish([scope.message("run", "1"), scope.message("run", "2")]);
        await heard.count(2);
        gate.open();
      });
    });

    describe("broadcast", () => {
      test("everybody hears a `str` message, also under one durable name, and no answer brings it back", async () => {
        const pattern = scope.subject("chunk", "str");
        const first = await listen(bus, { pattern, durable: scope.durable() }, (delivery) => delivery.nak());
        const second = await listen(bus, { pattern, durable: scope.durable() }, () => {
          throw new Error("injected");
        });
        for (const text of ["1", "2", "3"]) await bus.publish([scope.message("chunk", text, "str")]);
        await Promise.all([first.count(3), second.count(3)]);
        expect([first.texts(), second.texts()]).toEqual([
          ["1", "2", "3"],
          ["1", "2", "3"],
        ]);
      });

      if (openSecond !== undefined) {
        test("a `str` message reaches other processes", async () => {
          const other = await openSecond();
          onTestFinished(() => other.close());
          const heard = await listen(other, { pattern: scope.subject("chunk", "str"), durable: "" });
          await bus.publish([scope.message("chunk", "1", "str")]);
          await heard.count(1);
        });
      }
    });

    describe("limits and ends", () => {
      test("a message of the declared size passes and a larger one is refused with all that came along", async () => {
        const heard = await listen(bus, scope.all());
        const { messageBytesMax } = bus.capabilities;
        const small = scope.message("run", "along");
        const fitting = { subject: scope.subject("run"), headers: {}, data: randomBytes(messageBytesMax) };
        const larger = { ...fitting, data: randomBytes(messageBytesMax + 1) };
        await expect(bus.publish([small, larger])).rejects.toMatchObject({ kind: "too_large" });
        const byHeader = { ...fitting, headers: { "X-Long": "x".repeat(64) } };
        await expect(bus.publish([byHeader])).rejects.toMatchObject({ kind: "too_large" });
        await bus.publish([fitting]);
        await heard.count(1);
        expect(heard.deliveries[0]?.data.byteLength).toBe(messageBytesMax);
      });

      test.each([
        ["white space", (subject: string) => `${subject} x`],
        ["a line break", (subject: string) => `${subject}\r\nPUB x`],
        ["a wildcard", (subject: string) => `${subject}.*`],
        ["an empty token", (subject: string) => `${subject}..x`],
        ["another root", (subject: string) => `x${subject}`],
      ])("a subject with %s is refused", async (_what, change) => {
        const message = { ...scope.message("run", "1"), subject: change(scope.subject("run")) };
        await expect(bus.publish([message])).rejects.toMatchObject({ name: "BusError", kind: "refused" });
      });

      test("stop waits for running handlers and takes no more", async () => {
        const gate = newGate();
        const fence = await listen(bus, scope.all("fence"));
        const heard = await listen(bus, { ...scope.all(), inFlightMax: 1 }, () => gate.opened);
        await bus.publish([scope.message("run", "1")]);
        await heard.count(1);
        let hasStopped = false;
        const stopped = heard.stop().then(() => (hasStopped = true));
        await bus.publish([scope.message("run", "2")]);
        await fence.count(2);
        expect(hasStopped).toBe(false);
        gate.open();
        await stopped;
        await bus.publish([scope.message("run", "3")]);
        await fence.count(3);
        expect(heard.texts()).toEqual(["1"]);
      });

      test("close waits for running handlers; afterwards publishing and subscribing are refused", async () => {
        const gate = newGate();
        let hasReturned = false;
        const heard = await listen(bus, scope.all(), async () => {
          await gate.opened;
          hasReturned = true;
        });
        await bus.publish([scope.message("run", "1")]);
        await heard.count(1);
        const closed = bus.close();
        gate.open();
        await closed;
        expect(hasReturned).toBe(true);
        await expect(bus.publish([scope.message("run", "2")])).rejects.toMatchObject({ kind: "closed" });
        await expect(bus.subscribe(scope.all(), () => {})).rejects.toMatchObject({ kind: "closed" });
        await bus.close();
        expect(bus.health().connected).toBe(false);
      });
    });
  });
}

/** Subjects and durables that no other test uses. */
export interface Scope {
  subject(suffix: string, category?: "cmd" | "evt" | "str"): string;
  message(suffix: string, text: string, category?: "cmd" | "evt" | "str"): BusMessage;
  durable(name?: string): string;
  /** All commands of this scope. */
  all(name?: string): SubscribeOptions;
}

export function newScope(): Scope {
  const target = `t${randomBytes(6).toString("hex")}`;
  const scope: Scope = {
    subject: (suffix, category = "cmd") => `cg.v1r4.p1.public.${category}.tool.${target}.${suffix}`,
    message: (suffix, text, category) => ({
      subject: scope.subject(suffix, category),
      headers: {},
      data: new TextEncoder().encode(text),
    }),
    durable: (name = "main") => `${target}_${name}`,
    all: (name) => ({ pattern: `cg.v1r4.*.*.cmd.tool.${target}.>`, durable: scope.durable(name) }),
  };
  return scope;
}

export interface Heard {
  readonly deliveries: readonly Delivery[];
  texts(): string[];
  /** Resolves when this many deliveries were heard, and fails when there are more. */
  count(count: number): Promise<void>;
  /** Resolves when a message with this text was heard. */
  until(text: string): Promise<void>;
  stop(): Promise<void>;
}

/** Subscribes and writes down what is delivered, before the handler sees it. */
export async function listen(
  bus: Bus,
  options: SubscribeOptions,
  handler: (delivery: Delivery) => void | Promise<void> = () => {},
): Promise<Heard> {
  const deliveries: Delivery[] = [];
  const subscription = await bus.subscribe(options, (delivery) => {
    deliveries.push(delivery);
    return handler(delivery);
  });
  const texts = (): string[] => deliveries.map(textOf);
  return {
    deliveries,
    texts,
    count: (count) => eventually(() => expect(deliveries.length).toBe(count)),
    until: (text) => eventually(() => expect(texts()).toContain(text)),
    stop: () => subscription.stop(),
  };
}

export function textOf({ data }: BusMessage): string {
  return new TextDecoder().decode(data);
}

/** Repeats `assertion` until it holds; fails with its last complaint. */
export async function eventually(assertion: () => void | Promise<void>, waitMs = WAIT_MS): Promise<void> {
  await vi.waitFor(assertion, { timeout: waitMs, interval: 5 });
}

function newGate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
