// A client that opens a stream and does not read it keeps a connection, and a place among the streams, for as long as it likes.
// So a stream that waits to be written and has not moved for STALL_MS is cut. Its client can come back and resume.

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "@tessera/kernel/ports";

export const STALL_MS = 60_000;

export function cutWhenStalled(response: ServerResponse, clock: Clock): void {
  let sentBefore = -1;
  let timer: Timer | null = null;

  function look(): void {
    const { socket } = response;
    if (socket === null || response.writableEnded) return;
    // What the system has taken; the rest waits here for a reader.
    const sent = socket.bytesWritten - socket.writableLength;
    if (socket.writableLength > 0 && sent === sentBefore) {
      response.destroy();
      return;
    }
    sentBefore = sent;
    timer = clock.after(STALL_MS, look);
  }

  timer = clock.after(STALL_MS, look);
  response.once("close", () => timer?.cancel());
}
