// The administrator's key of a process that serves the API by itself: given by TESSERA_API_KEY, or made at the start.
//
//   K1. It is never stored in the database. For a directory it lies in DIR/key, readable by its owner only, so that other
//       commands of this user can reach the process that holds the directory.
//   K2. It is compared in constant time, and every other key is left to the kernel.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Kernel } from "@tessera/kernel";
import type { StorePlace } from "./store-place.ts";

export interface LocalKey {
  readonly text: string;
  /** Made here and not known to anybody yet: worth printing. */
  readonly isNew: boolean;
  authenticate: Kernel["authenticate"];
  close(): Promise<void>;
}

const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;

export async function openLocalKey(options: {
  readonly kernel: Pick<Kernel, "authenticate">;
  readonly place: StorePlace;
  readonly given?: string | undefined;
}): Promise<LocalKey> {
  const { kernel, place } = options;
  const given = options.given === "" ? undefined : options.given;
  const text = given ?? `tsl_${randomBytes(KEY_BYTES).toString("base64url")}`;
  const file = place.kind === "directory" ? join(place.directory, "key") : null;
  if (file !== null) {
    await rm(file, { force: true }); // its mode counts only when the file is made (K1)
    await writeFile(file, `${text}\n`, { mode: OWNER_ONLY, flag: "wx" });
  }
  const digest = sha256(text);
  return {
    text,
    isNew: given === undefined,
    authenticate: async (shown) =>
      timingSafeEqual(sha256(shown), digest)
        ? { key_id: "local", role: "admin", project_id: null, targets: [] }
        : await kernel.authenticate(shown), // K2
    close: async () => {
      if (file !== null) await rm(file, { force: true });
    },
  };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
