// Profiles by name. The document itself is a `sys.profile` card in the box that the row names (migration 0006, P1).

import { DESCRIPTION_BYTES_MAX, TesseraError } from "@tessera/protocol";
import { type TransitionDeps, transition } from "../batching/transitions.ts";
import type { WriteOutcome } from "./outcomes.ts";
import { answering, checkIds } from "./request-gate.ts";

export interface ProfileRecord {
  readonly project_id: string;
  readonly name: string;
  readonly profile_box_id: string;
  readonly worker_target: string;
  readonly tags?: readonly string[];
  readonly description?: string;
}

/** Writes only if the name means this box now; null: only if there is no such name. Else `precondition_failed`. */
interface ProfileExpectation {
  readonly expected_profile_box_id?: string | null | undefined;
}

export interface ProfilePort {
  /** Makes the name mean this box. The same again is a duplicate; agents that exist keep the box they have. */
  putProfile(profile: ProfileRecord & ProfileExpectation): Promise<WriteOutcome>;
  removeProfile(
    profile: { readonly project_id: string; readonly name: string } & ProfileExpectation,
  ): Promise<WriteOutcome>;
}

type ProfileItem = ProfileExpectation & { readonly is_repeat?: true } & (
    | ProfileRecord
    | { readonly project_id: string; readonly name: string; readonly removed: true }
  );

const NAME_CHARS_MAX = 128;
const TAGS_MAX = 64;

export function createProfilePort(world: TransitionDeps): ProfilePort {
  const put = transition<ProfileItem, WriteOutcome>(world, "put_profiles", {
    keyOf: (item) => `${item.project_id}/${item.name}`,
    repeat: (item) => ({ ...item, is_repeat: true }),
  });
  return {
    putProfile: (profile) =>
      answering(async () => {
        const { project_id, name, profile_box_id, worker_target, tags = [], description = "" } = profile;
        checkIds({ project_id, profile_box_id, worker_target });
        checkText("name", name, NAME_CHARS_MAX);
        if (tags.length > TAGS_MAX) throw new TesseraError("bad_request", `more than ${TAGS_MAX} tags`);
        for (const tag of tags) checkText("tags", tag, NAME_CHARS_MAX);
        if (Buffer.byteLength(description) > DESCRIPTION_BYTES_MAX)
          throw new TesseraError("bad_request", "description is too long");
        return await put({
          project_id,
          name,
          profile_box_id,
          worker_target,
          tags,
          description,
          expected_profile_box_id: profile.expected_profile_box_id,
        });
      }),
    removeProfile: (profile) =>
      answering(async () => {
        const { project_id, name } = profile;
        checkIds({ project_id });
        return await put({ project_id, name, removed: true, expected_profile_box_id: profile.expected_profile_box_id });
      }),
  };
}

function checkText(field: string, text: string, charsMax: number): void {
  if (text.trim() === "" || text.length > charsMax || /\p{Cc}/u.test(text)) {
    throw new TesseraError("bad_request", `${field} must be 1 to ${charsMax} characters without control characters`, {
      details: { field },
    });
  }
}
