// What is checked about a request as HTTP, before its key is looked up.
//
//   W1. A header that decides something is sent once. Two values, and two readers, would make two requests of it.
//   W2. A body that is too large by its own word is refused before it is read. A compressed one has no known size, so it is
//       refused as too large; any other coding is one that we do not read.
//   W3. When an answer leaves before its request has fully arrived, the connection ends with it. What still arrives is thrown
//       away for DRAIN_MS at most: a connection that is closed over unread bytes is reset, and the client would lose the very
//       answer that tells it why.

import type { IncomingMessage } from "node:http";
import type { Clock } from "@tessera/kernel/ports";
import { BadRequest, HEADERS } from "@tessera/protocol";
import { HttpRefusal } from "../routing/problem.ts";

/** Request headers that routes and access control read, in lower case. */
export const API_REQUEST_HEADERS: readonly string[] = [
  "authorization",
  "content-type",
  "idempotency-key",
  "if-match",
  "if-none-match",
  "last-event-id",
  HEADERS.call_ticket,
  HEADERS.report_capability,
  HEADERS.traceparent,
].map((name) => name.toLowerCase());
/** W1 */
const SINGLE: ReadonlySet<string> = new Set(["host", "origin", ...API_REQUEST_HEADERS]);
const COMPRESSIONS: ReadonlySet<string> = new Set([
  "gzip",
  "x-gzip",
  "deflate",
  "br",
  "zstd",
  "compress",
  "x-compress",
]);

export function checkSingleHeaders(request: IncomingMessage): void {
  const seen = new Set<string>();
  for (let n = 0; n < request.rawHeaders.length; n += 2) {
    const name = (request.rawHeaders[n] ?? "").toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) throw new BadRequest(`header ${name} was sent more than once`, { details: { header: name } }); // W1
    seen.add(name);
  }
}

export function checkBodyHeaders(headers: IncomingMessage["headers"], bytesMax: number): void {
  const coding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (coding !== "identity" && coding !== "") {
    const isCompressed = coding.split(",").every((one) => COMPRESSIONS.has(one.trim()));
    throw new HttpRefusal(
      isCompressed ? "payload_too_large" : "unsupported_media_type",
      "bodies are read as they are; send it without Content-Encoding",
      { details: { header: "content-encoding" } },
    );
  }
  if (Number(headers["content-length"] ?? 0) > bytesMax) {
    throw new HttpRefusal("payload_too_large", `the body may have at most ${bytesMax} bytes`, {
      details: { bytes_max: bytesMax },
    });
  }
}

const DRAIN_MS = 2_000;

/** W3. To be called before the answer is sent, with `Connection: close` in it. */
export function endAfterAnswer({ socket }: IncomingMessage, clock: Clock): void {
  // Node calls this once the answer is written; its own version closes at once.
  socket.destroySoon = () => {
    socket.end();
    const timer = clock.after(DRAIN_MS, () => socket.destroy());
    socket.once("close", () => timer.cancel());
  };
}

export function isUnread(request: IncomingMessage): boolean {
  const { headers } = request;
  const hasBody = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
  return hasBody && !request.complete;
}
