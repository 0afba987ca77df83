// Finds the turn that a person names.

import type { Client, Turn } from "@tessera/client";
import { itemsOf } from "../connect/all-pages.ts";
import { listOfProject } from "../connect/project-access.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { storeWords } from "../output/paste-command.ts";

/** Among as many of the newest turns a part of an id is looked for. */
const NEWEST_MAX = 200;
const PART_CHARS_MIN = 6;

/** The turn; the beginning or the end of its id will do where only one of the newest turns has it, also as a table cuts it. */
export async function findTurn(client: Client, flags: ApiFlags, pasted: string): Promise<Turn> {
  const { project } = flags;
  const given = pasted.replace(/^…|…$/g, "") || pasted;
  try {
    return await client.getTurn({ project, turn: given });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  const turns = await listOfProject(project, async () => [
    ...itemsOf(await client.listTurns({ project, limit: NEWEST_MAX }), "turns"),
  ]);
  const ids = turns.map(({ agentTurnId }) => agentTurnId);
  const fits = given.length < PART_CHARS_MIN ? [] : ids.filter((id) => id.startsWith(given) || id.endsWith(given));
  const [only] = fits;
  if (fits.length === 1 && only !== undefined) return await client.getTurn({ project, turn: only });
  if (fits.length > 1) throw usageError(`${JSON.stringify(given)} may be any of ${fits.slice(0, 5).join(", ")}`);
  const words = ["tessera turns ls", ...storeWords(flags)].join(" ");
  throw errorWithTodo(
    "not_found",
    `project ${project} has no turn ${JSON.stringify(given)}`,
    `See those there are: ${words}`,
  );
}
