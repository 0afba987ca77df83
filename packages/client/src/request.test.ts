import { describe, expect, it } from "vitest";
import { TABLE } from "../test/api-double.ts";
import { prepareRequest } from "./request.ts";

const { getThing, makeThing, uploadThing, callThing } = TABLE;

describe("a request", () => {
  it("has its path and query from the arguments, encoded", () => {
    const request = prepareRequest("getThing", getThing, { project: "a/b?c", thing: "ü x", limit: 5, isOpen: false });
    expect(request).toEqual({
      method: "GET",
      target: "/projects/a%2Fb%3Fc/things/%C3%BC%20x?limit=5&isOpen=false",
      headers: {},
      body: null,
    });
  });

  it("keeps a verb behind an id", () => {
    const { target } = prepareRequest("callThing", callThing, { project: "p", thing: "a__b", body: {} });
    expect(target).toBe("/projects/p/things/a__b:call");
  });

  it("carries JSON, the idempotency key and the precondition", () => {
    const request = prepareRequest("makeThing", makeThing, {
      project: "p",
      body: { a: [1] },
      idempotencyKey: "k1",
      ifMatch: '"3"',
    });
    expect(request.headers).toEqual({
      "idempotency-key": "k1",
      "if-match": '"3"',
      "content-type": "application/json",
    });
    expect(request.body).toBe('{"a":[1]}');
  });

  it("carries an upload as it is", () => {
    const bytes = Uint8Array.of(1, 2);
    const request = prepareRequest("uploadThing", uploadThing, { project: "p", body: bytes });
    expect(request.headers).toEqual({ "content-type": "application/yaml" });
    expect(request.body).toBe(bytes);
  });

  it("leaves out what is undefined", () => {
    const request = prepareRequest("makeThing", makeThing, {
      project: "p",
      idempotencyKey: undefined,
      nothing: undefined,
    });
    expect(request).toMatchObject({ headers: {}, body: null });
  });

  it.each([
    [{ project: "p", thing: ".." }, "thing of getThing is empty or no id"],
    [{ project: "", thing: "t" }, "project of getThing is empty or no id"],
    [{ project: "p" }, "getThing needs thing"],
    [{ project: "p", thing: {} }, "thing of getThing must be text"],
    [{ project: "p", thing: "t", limt: 5 }, "getThing has no argument limt"],
    [{ project: "p", thing: "t", body: {} }, "getThing has no body"],
  ])("%j is refused", (args, message) => {
    expect(() => prepareRequest("getThing", getThing, args)).toThrow(message);
  });

  it("refuses a body that is not JSON, and a header that cannot be sent without repeating it", () => {
    expect(() => prepareRequest("makeThing", makeThing, { project: "p", body: { n: 1n } })).toThrow("written as JSON");
    const secret = "k\r\nx: y";
    const send = () => prepareRequest("makeThing", makeThing, { project: "p", idempotencyKey: secret });
    expect(send).toThrow(/^idempotencyKey of makeThing must be of printable ASCII characters$/);
    expect(() => prepareRequest("uploadThing", uploadThing, { project: "p", body: {} })).toThrow("text or bytes");
  });
});
