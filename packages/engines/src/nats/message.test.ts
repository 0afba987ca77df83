// Headers as they come from the wire: read here as the library reads them.

import { MsgHdrsImpl } from "@nats-io/transport-node";
import { expect, test } from "vitest";
import { decodeHeaders, encodeMessage, headersOf, readHeaders } from "./message.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test.each([
  "NATS/1.0\r\nCG-Agent-Id: a1\r\nX-Empty:\r\nX-Text:  Grüße: 世界 \r\n\r\n",
  "NATS/1.0\r\nX-Lines: first\r\nX-Lines: second\r\nx-lines: other\r\n\r\n",
  "NATS/1.0 408 Request Timeout\r\nNats-Pending-Messages: 1\r\n\r\n",
  "NATS/1.0\r\n\r\n",
  "NATS/1.0\r\nno colon\r\nA: 1",
])("the block %j is read as the library reads it", (text) => {
  const block = bytes(text);
  expect({ ...readHeaders(block) }).toEqual({ ...decodeHeaders(MsgHdrsImpl.decode(block)) });
});

test("what was encoded is read back", () => {
  const headers = { "CG-Project-Id": "p1", "X-Lines": "first\nsecond", "X-Empty": "" };
  const { publishOptions } = encodeMessage({ subject: "cg.v1r4.p.public.cmd.tool.echo.run", headers, data: bytes("") });
  const block = (publishOptions.headers as MsgHdrsImpl).encode();
  expect({ ...readHeaders(block) }).toEqual(headers);
});

test("a message whose block cannot be seen is read through the library's map, and one without headers has none", () => {
  const headers = MsgHdrsImpl.decode(bytes("NATS/1.0\r\nA: 1\r\n\r\n"));
  expect({ ...headersOf({ headers } as never) }).toEqual({ A: "1" });
  expect({ ...headersOf({ _rdata: bytes("data"), _msg: { hdr: -1 } } as never) }).toEqual({});
});
