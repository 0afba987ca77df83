import { describe, expect, it } from "vitest";
import { createSseParser, EVENT_CHARS_MAX, type SseEvent } from "./sse-parser.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

function eventsOf(pieces: readonly Uint8Array[]): SseEvent[] {
  const parser = createSseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

const TEXT = [
  "\uFEFF: hello\r\n",
  'id: 1\r\nevent: turn.ended\r\ndata: {"a":"é😀"}\r\n\r\n',
  "data: first\ndata:second\ndata\n\n",
  ":\r\rid: 3\rdata:  two spaces\r\r",
  "retry: 1500\nid\nnonsense: x\ndata: no id\n\n",
].join("");
const EVENTS: readonly SseEvent[] = [
  { id: "1", event: "turn.ended", data: '{"a":"é😀"}' },
  { id: "1", event: "message", data: "first\nsecond\n" },
  { id: "3", event: "message", data: " two spaces" },
  { id: "", event: "message", data: "no id" },
];

describe("server-sent events", () => {
  it("are read from one piece: byte order mark, comments, every line ending, data of several lines", () => {
    expect(eventsOf([bytes(TEXT)])).toEqual(EVENTS);
  });

  it("are the same wherever the bytes are cut in two", () => {
    const all = bytes(TEXT);
    for (let cut = 0; cut <= all.length; cut++) {
      expect(eventsOf([all.subarray(0, cut), all.subarray(cut)]), `cut at ${cut}`).toEqual(EVENTS);
    }
  });

  it("are the same when every byte comes alone", () => {
    expect(eventsOf([...bytes(TEXT)].map((byte) => Uint8Array.of(byte)))).toEqual(EVENTS);
  });

  it("count an id only when its event is whole", () => {
    const parser = createSseParser("4");
    parser.push(bytes("id: 5\ndata: cut in the mid"));
    expect(parser.lastId).toBe("4");
    parser.push(bytes("dle\n\n"));
    expect(parser.lastId).toBe("5");
  });

  it("may bring an id without an event", () => {
    const parser = createSseParser();
    expect(parser.push(bytes("id: 7\n\n"))).toEqual([]);
    expect(parser.lastId).toBe("7");
  });

  it("pass over an id with NUL and a retry that is no number", () => {
    const parser = createSseParser("4");
    parser.push(bytes("id: 5\0\nretry: soon\ndata: x\n\n"));
    expect(parser.lastId).toBe("4");
    expect(parser.retryMs).toBeNull();
    parser.push(bytes("retry: 20\n"));
    expect(parser.retryMs).toBe(20);
  });

  it("refuse an event that never ends", () => {
    const piece = bytes(`data: ${"x".repeat(EVENT_CHARS_MAX / 4)}\n`);
    const parser = createSseParser();
    expect(() => {
      for (let n = 0; n < 5; n++) parser.push(piece);
    }).toThrow("characters");
  });
});
