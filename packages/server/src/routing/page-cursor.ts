// Where a list goes on: opaque to the client, and signed, so that only what this server handed out for this very list is
// taken back.

import { createHmac, timingSafeEqual } from "node:crypto";
import { BadRequest } from "@tessera/protocol";

export interface PageCursors {
  write(list: string, after: string): string;
  /** Throws for a cursor that was not written for this list. */
  read(list: string, cursor: string): string;
}

/** The longest place is a name of 128 characters, four bytes each. */
const CURSOR_CHARS_MAX = 1_024;
const MAC_BYTES = 16;

export function createPageCursors(key: Uint8Array): PageCursors {
  const macOf = (list: string, after: string) =>
    createHmac("sha256", key).update(`${list}\n${after}`).digest().subarray(0, MAC_BYTES);
  return {
    write: (list, after) => `${Buffer.from(after).toString("base64url")}.${macOf(list, after).toString("base64url")}`,
    read(list, cursor) {
      const [encoded = "", mac = ""] = cursor.length > CURSOR_CHARS_MAX ? [] : cursor.split(".");
      const after = Buffer.from(encoded, "base64url").toString();
      const shown = Buffer.from(mac, "base64url");
      const isOurs = shown.length === MAC_BYTES && timingSafeEqual(shown, macOf(list, after));
      // The same bytes have several spellings; only the one that was written counts.
      if (!isOurs || this.write(list, after) !== cursor) {
        throw new BadRequest("cursor is not one of this list", { details: { field: "cursor" } });
      }
      return after;
    },
  };
}
