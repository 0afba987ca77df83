// API keys: `tsk_<key_id>.<secret>`, the secret being 256 random bits in 43 characters of base64url.
//
//   A1. The text is handed out once, by createApiKey; the store keeps the SHA-256 of the secret.
//   A2. No key, a malformed, unknown, expired, revoked or wrong one take the same way through authenticate and end in the
//       same answer. The hashes are compared in constant time.
//   A3. A key that counted may count for CACHE_MS more, so a revocation bites within that time everywhere, and at once in
//       the process that made it. Whether a key has expired is the database's to say, by its clock.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  isId,
  type JsonObject,
  readToolDelegationPolicy,
  TesseraError,
  type ToolDelegationPolicy,
  toolDelegationMistake,
} from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps, transition } from "../batching/transitions.ts";
import type { Ids } from "../ports.ts";
import type { Rejected, WriteOutcome } from "./outcomes.ts";
import { answering, checkIds } from "./request-gate.ts";

/** What an API key may be for. */
export const API_KEY_ROLES = ["viewer", "operator", "executor", "admin"] as const;
/** What an API key is for: `viewer` reads, `operator` asks for turns, `executor` works on calls, `admin` may do everything. */
export type ApiKeyRole = (typeof API_KEY_ROLES)[number];

export interface ApiKeyRequest {
  readonly role: ApiKeyRole;
  /** Absent or null: every project. */
  readonly project_id?: string | null;
  /** Whose calls an executor may take; only executors have any, and they need one. */
  readonly targets?: readonly string[] | undefined;
  /** What an executor may reach through ctx.runtime. */
  readonly delegation_policy?: JsonObject | undefined;
  readonly label?: string | undefined;
  readonly expires_in_ms?: number | undefined;
}

interface CreatedApiKey {
  readonly outcome: "accepted";
  readonly key_id: string;
  /** A1: shown once and kept nowhere. */
  readonly text: string;
}

export interface ApiKeyIdentity {
  readonly key_id: string;
  readonly role: ApiKeyRole;
  /** Null: every project. */
  readonly project_id: string | null;
  readonly targets: readonly string[];
  /** Null or absent: it has none. One that cannot be read denies everything. */
  readonly delegation_policy?: ToolDelegationPolicy | null;
}

export interface ApiKeyPort {
  createApiKey(request: ApiKeyRequest): Promise<CreatedApiKey | Rejected>;
  /** With a project, only a key of that project is found. */
  revokeApiKey(key: { readonly key_id: string; readonly project_id?: string | undefined }): Promise<WriteOutcome>;
  /** Whose key this is, or null when it counts for nothing (A2). */
  authenticate(text: string): Promise<ApiKeyIdentity | null>;
}

const SECRET_BYTES = 32;
const CACHE_MS = 5_000;
const CACHED_KEYS_MAX = 1_000;
const TARGETS_MAX = 64;
const LABEL_CHARS_MAX = 200;
const EXPIRES_MS_MAX = 10 * 365 * 86_400_000;
const KEY_TEXT = /^tsk_([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;
/** Stands in for what is not there, so that absence costs what presence costs (A2). No secret has this hash. */
const NO_HASH = Buffer.alloc(32);

interface LivingKey extends ApiKeyIdentity {
  readonly secret_sha256: string;
  readonly expires_in_ms: number | null;
  readonly is_use_noted: boolean;
}

type ApiKeyItem =
  | (ApiKeyRequest & { readonly key_id: string; readonly secret_sha256: string })
  | { readonly key_id: string; readonly project_id?: string | undefined; readonly revoked: true };

interface Cached {
  readonly identity: ApiKeyIdentity;
  readonly untilMs: number;
}

export function createApiKeyPort(world: TransitionDeps & { readonly ids: Ids }): ApiKeyPort {
  const put = transition<ApiKeyItem, WriteOutcome>(world, "put_api_keys", { keyOf: (item) => item.key_id });
  const cache = new Map<string, Cached>();
  const asking = new Map<string, Promise<ApiKeyIdentity | null>>();

  async function ask(text: string, digest: string): Promise<ApiKeyIdentity | null> {
    const [keyId, hash] = partsOf(text);
    const key = await runOnce<LivingKey | null>(world, "living_api_key", [keyId, moment(world.clock)]);
    const isEqual = timingSafeEqual(hash, key === null ? NO_HASH : Buffer.from(key.secret_sha256, "hex"));
    if (key === null || !isEqual) return null;
    if (!key.is_use_noted) await runOnce(world, "note_api_key_use", [key.key_id, moment(world.clock)]);
    const { key_id, role, project_id, targets } = key;
    const delegation_policy = readToolDelegationPolicy(key.delegation_policy);
    const identity: ApiKeyIdentity = { key_id, role, project_id, targets, delegation_policy };
    const forMs = Math.min(CACHE_MS, key.expires_in_ms ?? CACHE_MS);
    if (cache.size >= CACHED_KEYS_MAX) cache.clear();
    cache.set(digest, { identity, untilMs: world.clock.monotonicMs() + forMs });
    return identity;
  }

  return {
    createApiKey: (request) =>
      answering(async () => {
        checkRequest(request);
        const key_id = world.ids.mint("key");
        const secret = randomBytes(SECRET_BYTES);
        const outcome = await put({ ...request, key_id, secret_sha256: sha256(secret).toString("hex") });
        if (outcome.outcome === "rejected") return outcome;
        return { outcome: "accepted", key_id, text: `tsk_${key_id}.${secret.toString("base64url")}` };
      }),
    revokeApiKey: (key) =>
      answering(async () => {
        checkIds({ key_id: key.key_id, project_id: key.project_id });
        const outcome = await put({ ...key, revoked: true });
        for (const [digest, { identity }] of cache) if (identity.key_id === key.key_id) cache.delete(digest); // A3
        return outcome;
      }),
    async authenticate(text) {
      const digest = sha256(text).toString("hex");
      const cached = cache.get(digest);
      if (cached !== undefined && world.clock.monotonicMs() < cached.untilMs) return cached.identity;
      cache.delete(digest);
      // Many requests of one client come at once: they share one look.
      const already = asking.get(digest);
      if (already !== undefined) return await already;
      const answer = ask(text, digest).finally(() => asking.delete(digest));
      asking.set(digest, answer);
      return await answer;
    },
  };
}

/** The id and the hash that a text claims. A text that is no key claims an id that does not exist (A2). */
function partsOf(text: string): [keyId: string, hash: Buffer] {
  const [, keyId, encoded] = KEY_TEXT.exec(text) ?? [];
  const secret = Buffer.from(encoded ?? "", "base64url");
  // The last character has two bits to spare: only one of its four spellings is the key's.
  if (keyId === undefined || secret.toString("base64url") !== encoded) return ["", sha256("")];
  return [keyId, sha256(secret)];
}

function checkRequest(request: ApiKeyRequest): void {
  const { role, project_id, targets = [], label = "", expires_in_ms, delegation_policy } = request;
  checkIds({ project_id });
  if (!API_KEY_ROLES.includes(role)) throw refuse("role", `role must be one of ${API_KEY_ROLES.join(", ")}`);
  if ((role === "executor") !== targets.length > 0)
    throw refuse("targets", "only a key with the role executor has targets");
  if (targets.length > TARGETS_MAX || !targets.every(isId)) throw refuse("targets", "a target is an id");
  if (label.length > LABEL_CHARS_MAX || /\p{Cc}/u.test(label) || !label.isWellFormed()) {
    throw refuse("label", `label must be one line of at most ${LABEL_CHARS_MAX} characters`);
  }
  if (delegation_policy !== undefined) {
    const wrong = role === "executor" ? toolDelegationMistake(delegation_policy) : "is for executors";
    if (wrong !== null) throw refuse("delegation_policy", `delegation_policy ${wrong}`);
  }
  if (expires_in_ms === undefined) return;
  if (!Number.isSafeInteger(expires_in_ms) || expires_in_ms < 1 || expires_in_ms > EXPIRES_MS_MAX) {
    throw refuse("expires_in_ms", "expires_in_ms must be a positive whole number, at most ten years");
  }
}

function refuse(field: string, message: string): TesseraError {
  return new TesseraError("bad_request", message, { details: { field } });
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}
