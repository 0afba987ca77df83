// A turn in the hands of a worker: its profile, its cards and its tools, read once and kept while the turn runs here.
//
//   S1. Profile, conversation, tools; the system prompt is made of them (docs/protocol/turns.md#what-a-turn-is-made-of).
//   S2. Cards that this worker writes are added here too, so that a step does not read the whole history again.
//   S3. Boxes are read in pages: no history is too long. What is long and was read here before is not read again
//       (box-shelf.ts).

import { type CardDocument, watchTurn } from "@tessera/kernel";
import { errorOf, isJsonObject, readSharedWorkdir, type SharedWorkdir } from "@tessera/protocol";
import type { RegisteredTool } from "@tessera/tool";
import { INTERNAL_TOOL_DEFINITIONS, type ToolCatalog } from "@tessera/tool/catalog";
import { requireNone } from "../extensions/extension-host.ts";
import { type AgentProfile, MEMORY_DEFAULT } from "../profile.ts";
import { createTranscript, deliverableSchema, type EarlierTurn, type Transcript } from "../transcript/index.ts";
import { SUBMIT_RESULT } from "./submit-result.ts";
import type { Turn, WorkerContext } from "./worker-context.ts";

export interface TurnSession {
  readonly worker: WorkerContext;
  readonly turn: Turn;
  readonly profile: AgentProfile;
  readonly agentName: string;
  readonly instanceKey: string;
  /** Of an instance that was spawned with a directory. */
  readonly workdir: SharedWorkdir | null;
  readonly transcript: Transcript;
  /** This turn's output so far, in order. */
  readonly cards: CardDocument[];
  readonly context: readonly CardDocument[];
  /** What the steps of this turn may offer; extensions change it per step. */
  readonly offered: readonly RegisteredTool[];
  /** Whether answers to requests that were not waited for are to be taken in before the next step. */
  hasAnswers(): boolean;
  /** Aborted when the turn was stopped, lost, or this process goes away. */
  readonly signal: AbortSignal;
  append(cards: readonly CardDocument[]): void;
  close(): void;
}

const PAGE = 500;

export async function openSession(worker: WorkerContext, turn: Turn, stopping: AbortSignal): Promise<TurnSession> {
  const { project_id, context_box_id } = turn;
  // Asked for together, so that they are read in one round, with those of other turns (kernel's gathered-reads.ts).
  const [{ profile, earlier }, output, context, catalog, roster] = await Promise.all([
    readMemory(worker, turn),
    worker.boxes.read(project_id, turn.output_box_id, turn.box_start),
    context_box_id === null ? [] : worker.boxes.read(project_id, context_box_id),
    worker.tools.catalogOf(project_id),
    worker.kernel.reads.agent(project_id, turn.agent_id),
  ]);
  // Others may write into the box, too: a turn that is stopped in the queue leaves its deliverable there.
  const cards: CardDocument[] = output.filter((card) => card.metadata.agent_turn_id === turn.agent_turn_id);
  const offered = await offerTools(worker, catalog, profile, deliverableSchema(context) !== null);
  const metadata = isJsonObject(roster?.metadata) ? roster.metadata : {};
  const watch = watchTurn(turn, { ...worker, stopping });
  const transcript = createTranscript({ earlier, context, current: cards });
  const known = new Set(cards.map((card) => card.card_id));
  let answersWaiting = turn.answers_waiting;
  return {
    worker,
    turn,
    profile,
    agentName: typeof metadata.agent_name === "string" ? metadata.agent_name : profile.name,
    instanceKey: typeof metadata.instance_key === "string" ? metadata.instance_key : turn.agent_id,
    workdir: readSharedWorkdir(metadata.workdir),
    transcript,
    cards,
    context,
    offered,
    signal: watch.signal,
    hasAnswers() {
      const hasSome = answersWaiting > 0 || worker.wasRung(turn);
      answersWaiting = 0;
      return hasSome;
    },
    append(added) {
      // What the kernel settled before this worker came was read with the box already.
      const news = added.filter((card) => !known.has(card.card_id));
      for (const card of news) known.add(card.card_id);
      cards.push(...news); // S2
      transcript.append(news);
    },
    close: () => watch.release(),
  };
}

/** The profile, and what its memory holds. A driver reads no transcript. */
async function readMemory(
  worker: WorkerContext,
  turn: Turn,
): Promise<{ readonly profile: AgentProfile; readonly earlier: readonly EarlierTurn[] }> {
  if (worker.driver !== undefined) return { profile: await worker.driver.profileOf(turn), earlier: [] };
  const profile = await readProfile(worker, turn);
  return { profile, earlier: await worker.conversations.before(turn, profile.memory ?? MEMORY_DEFAULT) };
}

async function readProfile(worker: WorkerContext, turn: Turn): Promise<AgentProfile> {
  const profile = await profileIn(worker, turn);
  if (profile === null)
    throw errorOf("profile_not_found", `the profile box of agent ${turn.agent_id} holds no profile`);
  return profile;
}

/** Null: its profile box holds none. */
export async function profileIn(
  worker: Pick<WorkerContext, "kernel">,
  turn: Pick<Turn, "project_id" | "profile_box_id">,
): Promise<AgentProfile | null> {
  const box = turn.profile_box_id === null ? [] : await readBox(worker, turn.project_id, turn.profile_box_id);
  const card = box.find((each) => each.type === "sys.profile");
  const data = isJsonObject(card?.content) ? card.content.data : null;
  return isJsonObject(data) ? (data as unknown as AgentProfile) : null;
}

/** S3 */
export async function readBox(
  worker: Pick<WorkerContext, "kernel">,
  projectId: string,
  boxId: string,
  start = 0,
): Promise<(CardDocument & { pos: number })[]> {
  const cards: (CardDocument & { pos: number })[] = [];
  for (let from = start; ; ) {
    const page = await worker.kernel.reads.boxCards(projectId, boxId, { from, limit: PAGE });
    cards.push(...page);
    const last = page.at(-1);
    if (page.length < PAGE || last === undefined) return cards;
    from = last.pos + 1;
  }
}

/** The project's tools that the profile allows, the internal ones it names, and those of extensions. A turn whose deliverable has
 *  a schema has submit_result in any case: nothing else can end it. */
async function offerTools(
  worker: WorkerContext,
  project: ToolCatalog,
  profile: AgentProfile,
  isTyped: boolean,
): Promise<RegisteredTool[]> {
  const isAllowed = (name: string) =>
    profile.allowed_tools === null ||
    profile.allowed_tools.includes(name) ||
    profile.allowed_tools.includes(name.split("__")[0] ?? "");
  const internal = INTERNAL_TOOL_DEFINITIONS.filter((definition) =>
    profile.allowed_internal_tools.includes(definition.tool_name),
  );
  if (worker.extensions === undefined) requireNone(profile);
  const offered: RegisteredTool[] = [
    ...project
      .list()
      .filter((tool) => isAllowed(tool.definition.tool_name) && (worker.driver?.mayCall?.(tool) ?? true)),
    ...internal.map((definition) => ({ definition, code: null })),
    ...((await worker.extensions?.toolsOf(profile, (name) => project.get(name) !== undefined)) ?? []),
  ];
  const hasSubmit = isTyped || profile.allowed_internal_tools.includes(SUBMIT_RESULT.tool_name);
  return hasSubmit ? [...offered, { definition: SUBMIT_RESULT, code: null }] : offered;
}
