// Projects as a whole: made, changed, deleted. And the audit of refused requests.
//
//   D1. A project is deleted in many small transactions, each of which leaves a store that `verify` finds in order. A
//       process that dies in the middle leaves a project that is `deleting`, for which nothing is written any more; calling again ends it.
//   D2. A detail in the audit log is small: what happened, never what was sent.

import { gateJson, type ReadonlyJsonObject, TesseraError } from "@tessera/protocol";
import { moment, runOnce, type TransitionDeps, transition } from "../batching/transitions.ts";
import type { Rejected, WriteOutcome } from "./outcomes.ts";
import { answering, checkIds } from "./request-gate.ts";

interface ProjectRecord {
  readonly project_id: string;
  /** What is not given stays as it is. */
  readonly title?: string;
  readonly owner_id?: string;
  readonly status?: "active" | "inactive" | "archived";
  /** Writes only if the project has this revision; null: only if there is no such project. Else `precondition_failed`. */
  readonly expected_revision?: number | null;
}

type ProjectOutcome = Rejected | { readonly outcome: "accepted" | "duplicate"; readonly revision: number };

type DeleteOutcome =
  | { readonly outcome: "accepted" }
  | (Rejected & {
      /** With `conflict`: how many turns are queued or active. */
      readonly open_turns?: number;
    });

interface AuditNote {
  readonly project_id?: string | null;
  /** What was asked for. */
  readonly kind: string;
  /** What came of it. */
  readonly code: string;
  readonly principal?: string | null;
  readonly agent_turn_id?: string | undefined;
  readonly tool_call_id?: string | undefined;
  readonly detail?: ReadonlyJsonObject;
}

export interface ProjectPort {
  putProject(project: ProjectRecord): Promise<ProjectOutcome>;
  /** Everything of the project, unless a turn of it is queued or active (D1). Resolves when it is gone. */
  deleteProject(projectId: string): Promise<DeleteOutcome>;
  putAudit(note: AuditNote): Promise<WriteOutcome>;
}

/** D2 */
const AUDIT_DETAIL_BYTES_MAX = 4_096;
const AUDIT_TEXT_CHARS_MAX = 256;

type Repeatable<Item> = Item & { readonly is_repeat?: true };
type DeletePiece = DeleteOutcome & { readonly next?: { readonly stage: number; readonly block: number } };

export function createProjectPort(world: TransitionDeps): ProjectPort {
  const putProject = transition<Repeatable<ProjectRecord>, ProjectOutcome>(world, "put_projects", {
    keyOf: (item) => item.project_id,
    repeat: (item) => ({ ...item, is_repeat: true }),
  });
  const putAudit = transition<AuditNote, WriteOutcome>(world, "put_audit");
  return {
    putProject: (project) =>
      answering(async () => {
        checkIds({ project_id: project.project_id });
        return await putProject(project);
      }),
    deleteProject: (projectId) =>
      answering(async () => {
        checkIds({ project_id: projectId });
        let next = { stage: 0, block: 0 };
        for (;;) {
          const values = [projectId, next.stage, next.block, moment(world.clock)];
          const answer = await runOnce<DeletePiece>(world, "delete_project", values);
          // Another one may have been quicker with the last piece.
          if (answer.outcome === "rejected") return next.stage === 0 ? answer : { outcome: "accepted" };
          if (answer.next === undefined) return { outcome: "accepted" };
          next = answer.next;
        }
      }),
    putAudit: (note) =>
      answering(async () => {
        checkIds({ project_id: note.project_id });
        for (const text of [
          note.kind,
          note.code,
          note.principal ?? "",
          note.agent_turn_id ?? "",
          note.tool_call_id ?? "",
        ]) {
          if (text.length > AUDIT_TEXT_CHARS_MAX) {
            throw new TesseraError(
              "bad_request",
              `a text of an audit note has at most ${AUDIT_TEXT_CHARS_MAX} characters`,
            );
          }
        }
        const detail = gateJson(note.detail ?? {}, { bytesMax: AUDIT_DETAIL_BYTES_MAX }) as ReadonlyJsonObject;
        return await putAudit({ ...note, detail });
      }),
  };
}
