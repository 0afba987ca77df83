import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { methodsFor, openDouble, sendProblem, testTimers } from "../test/api-double.ts";
import type { ApiError } from "./api-error.ts";

function begin(response: ServerResponse, text = ""): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  response.write(text);
}

const event = (id: number) => `id: ${id}\nevent: e\ndata: {"n":${id}}\n\n`;

async function take(stream: AsyncIterable<{ data: unknown }>, count: number): Promise<unknown[]> {
  const taken: unknown[] = [];
  if (count === 0) return taken;
  for await (const { data } of stream) {
    taken.push(data);
    if (taken.length === count) break;
  }
  return taken;
}

describe("the stream of events", () => {
  it("goes on after the last whole event when the connection is cut", async () => {
    const double = await openDouble((_, response, count) => {
      if (count === 1) {
        begin(response);
        response.write(`${event(1)}${event(2)}id: 3\ndata: {"n"`, () => response.destroy());
      } else begin(response, event(3));
    });
    const events = await take(methodsFor(double.url).streamThings({ project: "p", after: "0" }), 3);
    expect(events).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(double.heard.map(({ url, headers }) => [url, headers["last-event-id"]])).toEqual([
      ["/projects/p/events?after=0", undefined],
      ["/projects/p/events", "2"],
    ]);
  });

  it("goes on from where a connection stood that brought no event", async () => {
    const double = await openDouble((_, response, count) => {
      begin(response, count === 1 ? "retry: 1\n\nid: 7\n\n" : event(8));
      if (count === 1) response.end();
    });
    expect(await take(methodsFor(double.url).streamThings({ project: "p" }), 1)).toEqual([{ n: 8 }]);
    expect(double.heard.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "7"]);
  });

  it("goes on when the server ends it in order, and calls onReconnect", async () => {
    const double = await openDouble((_, response, count) => {
      begin(response, event(count));
      response.end();
    });
    const told: number[] = [];
    const onReconnect = ({ waitMs }: { waitMs: number }) => told.push(waitMs);
    expect(await take(methodsFor(double.url).streamThings({ project: "p", onReconnect }), 3)).toHaveLength(3);
    expect(told).toEqual([250, 250]); // something came each time, so the pause does not grow
  });

  it("waits as the server wishes", async () => {
    const double = await openDouble((_, response, count) => {
      if (count === 1) {
        begin(response, `retry: 3000\n${event(1)}`);
        response.end();
      } else if (count === 2) sendProblem(response, 503, "shutting_down", { "retry-after": "7" });
      else begin(response, event(2));
    });
    const timers = testTimers();
    await take(methodsFor(double.url, timers).streamThings({ project: "p" }), 2);
    expect(timers.pauses).toEqual([3_000, 7_000]);
  });

  it("throws what trying again cannot change", async () => {
    const double = await openDouble((_, response) => sendProblem(response, 403, "forbidden"));
    await expect(take(methodsFor(double.url).streamThings({ project: "p" }), 1)).rejects.toMatchObject({
      status: 403,
      code: "forbidden",
    });
    expect(double.heard).toHaveLength(1);
  });

  it("is tried like any GET when it cannot begin", async () => {
    const double = await openDouble(() => undefined);
    await double.close();
    const timers = testTimers();
    const work = take(methodsFor(double.url, timers, 2).streamThings({ project: "p" }), 1);
    await expect(work).rejects.toMatchObject({ status: 0, code: "upstream_unavailable" });
    expect(timers.pauses).toHaveLength(2);
  });

  it("gives up when ten connections in a row bring nothing", async () => {
    const double = await openDouble((_, response, count) => {
      begin(response, count === 1 ? event(1) : "");
      response.end();
    });
    const timers = testTimers();
    await expect(take(methodsFor(double.url, timers).streamThings({ project: "p" }), 2)).rejects.toThrow(
      "the stream ended",
    );
    expect(double.heard).toHaveLength(11);
    expect(timers.pauses.at(-1)).toBe(7_500);
  });

  it("takes a connection that is silent for lost", async () => {
    const double = await openDouble((_, response, count) => begin(response, count === 1 ? "" : event(1)));
    const limits: (() => void)[] = [];
    const base = testTimers();
    const timers = {
      ...base,
      after(ms: number, task: () => void) {
        if (ms === 60_000) limits.push(task);
        return base.after(ms, task);
      },
    };
    const why: unknown[] = [];
    const onReconnect = ({ error }: { error: ApiError }) => why.push(error.message);
    const work = take(methodsFor(double.url, timers).streamThings({ project: "p", onReconnect }), 1);
    await expect.poll(() => double.heard.length, { timeout: 10_000 }).toBe(1);
    limits[0]?.();
    expect(await work).toEqual([{ n: 1 }]);
    expect(why).toEqual([expect.stringContaining("sent nothing for 60000 ms")]);
  });

  it("ends without an error when it is aborted, and closes its connection", async () => {
    let isClosed = false;
    const double = await openDouble((_, response) => {
      response.on("close", () => {
        isClosed = true;
      });
      begin(response, event(1));
    });
    const stop = new AbortController();
    const seen: unknown[] = [];
    for await (const { data } of methodsFor(double.url).streamThings({ project: "p", signal: stop.signal })) {
      seen.push(data);
      stop.abort();
    }
    expect(seen).toEqual([{ n: 1 }]);
    await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);
  });

  it("closes its connection when its reader stops", async () => {
    let isClosed = false;
    const double = await openDouble((_, response) => {
      response.on("close", () => {
        isClosed = true;
      });
      begin(response, event(1));
    });
    await take(methodsFor(double.url).streamThings({ project: "p" }), 1);
    await expect.poll(() => isClosed, { timeout: 10_000 }).toBe(true);
  });

  it("says so when something else than events is answered", async () => {
    const double = await openDouble((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("x"));
    await expect(take(methodsFor(double.url).streamThings({ project: "p" }), 1)).rejects.toMatchObject({
      code: "protocol_violation",
    });
  });
});
