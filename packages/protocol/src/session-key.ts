// Sessions: `session_id` is what a caller calls a session, and no more than that. Two agents, or two projects, that use
// the same word have two sessions.
//
//   S1. Different (project, agent, alias) give different keys: the hash is over all three with their borders, so
//       `("a", "b_c")` and `("a_b", "c")` differ although they read alike.
//   S2. A key is a legal id. What stands before the hash is for people and decides nothing.

import { createHash } from "node:crypto";
import { BadRequest } from "./errors/errors.ts";
import { ID_CHARS_MAX } from "./limits.ts";
import { safeLabel } from "./messages/subject.ts";

/** Whose session it is: a project and an agent. */
export interface SessionOwner {
  readonly project_id: string;
  readonly agent_id: string;
}

/** How long the name of a session may be. */
export const SESSION_ALIAS_CHARS_MAX = 256;

/** 128 bits in hexadecimal: ids become directory names, and some file systems do not tell `a` from `A`. */
const HASH_CHARS = 32;

/** The key under which a tool keeps a session of an agent: the same name of another agent is another session. */
export function sessionKey(owner: SessionOwner, alias: string): string {
  if (typeof alias !== "string" || alias === "" || alias.length > SESSION_ALIAS_CHARS_MAX) {
    throw new BadRequest(`session_id must have 1 to ${SESSION_ALIAS_CHARS_MAX} characters`, {
      code: "invalid_id",
      details: { field: "session_id" },
    });
  }
  // JSON marks where each part ends, and writes even half a surrogate pair as itself (S1).
  const identity = JSON.stringify([owner.project_id, owner.agent_id, alias]);
  const hash = createHash("sha256").update(identity).digest("hex").slice(0, HASH_CHARS);
  const label = safeLabel(`${owner.project_id}_${owner.agent_id}_${alias}`).slice(0, ID_CHARS_MAX - HASH_CHARS - 1);
  return `${label}_${hash}`;
}
