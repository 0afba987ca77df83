// An instance's conversation, begun anew by an operator.
//
//   R1. The Idempotency-Key names the card that a reset leaves: the same key with the same request is the same reset, with another
//       request a conflict.
//   R2. Who did it is the key's principal; a request cannot say.

import { createHash } from "node:crypto";
import { BadRequest, errorOf } from "@tessera/protocol";
import Type from "typebox";
import { bodyReader } from "../http/request-body.ts";
import { closed, Id, named } from "../routing/api-schemas.ts";
import type { ManagementDeps } from "../routing/management-deps.ts";
import { existingProject, refused } from "../routing/refusals.ts";
import { type ApiAnswer, type ApiRequest, type RouteSpec, WRITERS } from "../routing/route-spec.ts";

const REASON_CHARS_MAX = 1_000;
const KEY_CHARS_MAX = 256;

const ResetBody = Type.Object({ reason: Type.Optional(Type.String({ maxLength: REASON_CHARS_MAX })) }, closed);
const ConversationReset = named("ConversationReset", "An instance whose conversation begins anew.", {
  agent_id: Id,
  card_id: Id,
  conversation_from: Type.Integer({
    minimum: 1,
    description: "The number of the first turn that belongs to the conversation from now on.",
  }),
});
const readReset = bodyReader(ResetBody);

export function resetRoute({ kernel }: Pick<ManagementDeps, "kernel">): RouteSpec {
  async function reset(request: ApiRequest): Promise<ApiAnswer> {
    const { reason } = await readReset(request.body ?? {});
    const project_id = await existingProject(kernel, request);
    const agent_id = request.param("agent");
    const key = request.header("idempotency-key");
    const outcome = await kernel.resetConversation({
      ...{ project_id, agent_id, author_id: request.key.key_id }, // R2
      card_id: key === null ? undefined : cardIdOf(project_id, key),
      reason,
    });
    if (outcome.outcome === "rejected") {
      if (outcome.code === "conflict") throw usedOtherwise();
      if (outcome.code !== "not_found") throw refused(outcome);
      const message = `there is no agent ${agent_id} in this project`;
      throw errorOf("agent_not_found", message, { details: { field: "agent_id" } });
    }
    const { card_id, conversation_from } = outcome;
    if (outcome.outcome === "duplicate") {
      const [card] = await kernel.reads.cards(project_id, [card_id]);
      const { data } = (card?.content ?? {}) as { readonly data?: { readonly reason?: string } };
      if (data?.reason !== reason) throw usedOtherwise(); // R1
    }
    return { status: 200, body: { agent_id, card_id, conversation_from }, made: { card: card_id } };
  }

  return {
    id: "resetAgent",
    tag: "agents",
    summary: "Begin an agent's conversation anew: later turns remember nothing from before now. Nothing is deleted.",
    method: "POST",
    path: "/projects/:project/agents/:agent/reset",
    roles: WRITERS,
    headers: { "Idempotency-Key": "The same key with the same request is the same reset." },
    body: "json",
    bodySchema: ResetBody,
    answers: { 200: ConversationReset },
    handle: reset,
  };
}

/** R1. The key alone names the card, so that its use for another agent is found. */
function cardIdOf(projectId: string, key: string): string {
  if (key === "" || key.length > KEY_CHARS_MAX) {
    throw new BadRequest(`Idempotency-Key must be 1 to ${KEY_CHARS_MAX} characters`, {
      details: { field: "Idempotency-Key" },
    });
  }
  const hash = createHash("sha256")
    .update(JSON.stringify(["reset", projectId, key]))
    .digest("hex");
  return `card_${hash.slice(0, 32)}`;
}

function usedOtherwise() {
  return errorOf("conflict", "this Idempotency-Key was used for another request", {
    details: { field: "Idempotency-Key" },
  });
}
