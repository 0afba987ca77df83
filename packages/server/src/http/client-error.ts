// What is said on a connection whose bytes are no HTTP request: too large a header, a broken line, one that never ends.
// There is no request to answer through, so the answer is written to the socket, and the connection ends.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { HttpRefusal, PROBLEM_TYPE, problemOf } from "../routing/problem.ts";

export function answerClientError(error: { readonly code?: string }, socket: Socket, requestId: string): void {
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body } = problemOf(refusalOf(error.code), requestId);
  const text = JSON.stringify(body);
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`,
      `Content-Type: ${PROBLEM_TYPE}`,
      `Content-Length: ${Buffer.byteLength(text)}`,
      `X-Request-Id: ${requestId}`,
      "Connection: close",
      "",
      text,
    ].join("\r\n"),
    // The other side may keep sending for ever: it is not waited for.
    () => socket.destroy(),
  );
}

function refusalOf(code: string | undefined): HttpRefusal {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new HttpRefusal("bad_request", "the request did not arrive in time", { status: 408 });
  }
  if (code === "HPE_HEADER_OVERFLOW") {
    return new HttpRefusal("payload_too_large", "the headers are larger than allowed", { status: 431 });
  }
  return new HttpRefusal("bad_request", "this is not an HTTP request that can be read");
}
