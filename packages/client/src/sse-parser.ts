// Server-sent events: bytes in pieces of any size → events, by the rules of the HTML standard (9.2.6).
//
//   P1. A line ends with CR, LF or CRLF, and a piece may end anywhere: in a character, between CR and LF.
//   P2. An event without data is none, but its id counts. An id counts when its event is whole: after a cut in the middle of
//       one, that event is sent again. An id with NUL is passed over.
//   P3. What one line or one event may hold is limited: a server that never ends one cannot fill the memory.

export interface SseEvent {
  /** The last id that was sent, up to and including this event; empty when there was none. */
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface SseParser {
  /** The events that end in this piece. */
  push(bytes: Uint8Array): SseEvent[];
  /** Of the last whole event, with data or without (P2). */
  readonly lastId: string;
  /** What the server wishes as the pause before the next connection, or null. */
  readonly retryMs: number | null;
}

export const EVENT_CHARS_MAX = 8 * 1024 * 1024;

export function createSseParser(lastId = ""): SseParser {
  const decoder = new TextDecoder("utf-8"); // takes a byte order mark away
  let rest = "";
  let isAfterCr = false;
  let id = lastId;
  let wholeId = lastId;
  let retryMs: number | null = null;
  let event = "";
  let data: string[] = [];
  let dataChars = 0;

  function field(name: string, value: string): void {
    if (name === "data") {
      data.push(value);
      dataChars += value.length + 1;
      if (dataChars > EVENT_CHARS_MAX) throw tooLong(); // P3
    } else if (name === "event") event = value;
    else if (name === "id" && !value.includes("\0")) id = value;
    else if (name === "retry" && /^\d{1,9}$/.test(value)) retryMs = Number(value);
  }

  function line(text: string): SseEvent[] {
    if (text !== "") {
      const colon = text.indexOf(":");
      if (colon === -1) field(text, "");
      else if (colon > 0) field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ""));
      return []; // a line that starts with a colon is a comment
    }
    wholeId = id; // P2
    const done = data.length === 0 ? [] : [{ id, event: event === "" ? "message" : event, data: data.join("\n") }];
    event = "";
    data = [];
    dataChars = 0;
    return done;
  }

  return {
    get lastId() {
      return wholeId;
    },
    get retryMs() {
      return retryMs;
    },
    push(bytes) {
      let text = decoder.decode(bytes, { stream: true });
      if (text === "") return [];
      // P1: the LF of a CRLF that was cut in two.
      if (isAfterCr && text.startsWith("\n")) text = text.slice(1);
      isAfterCr = text === "" ? false : text.endsWith("\r");
      const lines = (rest + text).split(/\r\n|\r|\n/);
      rest = lines.pop() ?? "";
      if (rest.length > EVENT_CHARS_MAX) throw tooLong(); // P3
      return lines.flatMap(line);
    },
  };
}

function tooLong(): Error {
  return new Error(`an event has more than ${EVENT_CHARS_MAX} characters`);
}
