// An HTTP client that sends exactly the bytes it is given: a real one would refuse most of what is tried here.

import { connect, type Socket } from "node:net";

export interface WireRequest {
  readonly method: string;
  /** Path and query as they stand in the request line. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string | Uint8Array | null;
}

export interface WireAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly ms: number;
}

/** The bytes of a request, with the length of its body unless its headers say one. */
export function requestBytes({ method, target, headers, body }: WireRequest): Buffer {
  const bytes = body === null ? null : Buffer.from(body as string);
  const hasLength = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (bytes !== null && !hasLength) lines.push(`Content-Length: ${bytes.length}`);
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), bytes ?? Buffer.alloc(0)]);
}

export interface Exchange {
  /** The first answer that is none of the 1xx; null when the connection ended without one. */
  readonly answer: Promise<WireAnswer | null>;
  readonly closed: Promise<void>;
  /** Says that nothing more will be sent. */
  end(): void;
  destroy(): void;
}

export function exchange(port: number, bytes: Uint8Array, isHead = false): Exchange {
  const startedAt = performance.now();
  const socket: Socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const closed = new Promise<void>((resolve) => {
    socket.on("close", () => resolve());
  });
  const answer = new Promise<WireAnswer | null>((resolve) => {
    let received = "";
    socket.on("data", (piece) => {
      received += piece.toString("latin1");
      const read = readAnswer(received, isHead);
      if (read !== null) resolve({ ...read, ms: performance.now() - startedAt });
    });
    socket.on("end", () => socket.end());
    socket.on("error", () => resolve(null));
    socket.on("close", () => resolve(null));
  });
  socket.write(bytes);
  return { answer, closed, end: () => socket.end(), destroy: () => void socket.destroy() };
}

function readAnswer(received: string, isHead: boolean): Omit<WireAnswer, "ms"> | null {
  const [head = "", ...rest] = received.split("\r\n\r\n");
  if (rest.length === 0) return null;
  const status = Number(head.slice(9, 12));
  if (status < 200) return readAnswer(received.slice(head.length + 4), isHead);
  const body = received.slice(head.length + 4);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? Number.NaN);
  const type = /^content-type: *(.+)$/im.exec(head)?.[1] ?? "";
  const isStream = type.startsWith("text/event-stream");
  const isWhole =
    isHead || isStream || status === 204 || (Number.isNaN(length) ? body.endsWith("0\r\n\r\n") : body.length >= length);
  // What comes after it answers the next request: bytes that no length covered are read as one.
  const text = Number.isNaN(length) ? body : body.slice(0, length);
  return isWhole ? { status, type, text } : null;
}
