// The administrator's key of a process that serves the API by itself: given by TESSERA_API_KEY, or made at the start.
//
//   K1. It is never stored in the database. Where others may use it, holder.ts leaves it in the store's directory.
//   K2. It is compared in constant time, and every other key is left to the kernel.
//   K3. One that no request can show is refused at the start, without being repeated: no client could use the API.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Kernel } from "@tessera/kernel";
import { BadRequest } from "@tessera/protocol";

export interface LocalKey {
  readonly text: string;
  /** Made here and not known yet: worth printing. */
  readonly isNew: boolean;
  authenticate: Kernel["authenticate"];
}

const KEY_BYTES = 32;
/** What `Authorization: Bearer` can carry, as the server reads it. */
const SHOWABLE = /^[\x21-\x7e]{1,256}$/;
const NOT_SHOWABLE =
  "the API key (TESSERA_API_KEY) cannot be sent by any client: it must have 1 to 256 printable ASCII characters without a space";

export function createLocalKey(options: {
  readonly kernel: Pick<Kernel, "authenticate">;
  readonly given?: string | undefined;
}): LocalKey {
  const { kernel } = options;
  const given = options.given === "" ? undefined : options.given;
  if (given !== undefined && !SHOWABLE.test(given)) throw new BadRequest(NOT_SHOWABLE); // K3
  const text = given ?? `tsl_${randomBytes(KEY_BYTES).toString("base64url")}`;
  const digest = sha256(text);
  return {
    text,
    isNew: given === undefined,
    authenticate: async (shown) =>
      timingSafeEqual(sha256(shown), digest)
        ? { key_id: "local", role: "admin", project_id: null, targets: [] }
        : await kernel.authenticate(shown), // K2
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
