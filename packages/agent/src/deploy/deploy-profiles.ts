// Profiles into a project: each as a card in a box of its own, under its name, and the instances that exist moved to it.
//
//   D1. Ids follow from the content, so that deploying the same again changes nothing, from however many processes.
//   D2. A card never changes: a turn that was enqueued keeps the box it was given, and only later turns get the new one.
//   D3. What an instance has of its own stays: its worker target and tags follow the profile only where they were the old
//       profile's.
//   D4. Safe to repeat after a crash: what is left over is found by looking at the roster, not remembered.
//   D5. An agent that leaves its bundle is withdrawn: its name means nothing any more and its instances are asked for nothing
//       new. Turns that were asked for end as they would have. The roster says which instances come back with it.

import { createHash } from "node:crypto";
import type { Kernel, Row, WriteOutcome } from "@tessera/kernel";
import { errorOf, isErrorCode, isJsonObject, type JsonObject } from "@tessera/protocol";
import { agentIdOf } from "../instance.ts";
import type { AgentProfile } from "../profile.ts";
import { instanceOf } from "../runtime/instances.ts";

interface DeployedProfile {
  readonly name: string;
  readonly profile_box_id: string;
  readonly outcome: "new" | "changed" | "unchanged";
}

interface MovedInstance {
  readonly agent_id: string;
  readonly agent_name: string;
  readonly from: string | null;
  readonly to: string;
}

export interface Deployment {
  readonly profiles: readonly DeployedProfile[];
  readonly moved: readonly MovedInstance[];
}

export interface DeployOptions {
  /** The box that the name must mean now; null: the name must mean none yet. Absent: whatever it means. */
  readonly expectedBoxId?: string | null;
}

const AUTHOR = "sys.deploy";
const HASH_CHARS = 40;
const PAGE = 500;

export async function deployProfiles(
  kernel: Kernel,
  projectId: string,
  profiles: readonly AgentProfile[],
  options: DeployOptions = {},
): Promise<Deployment> {
  const deployed: DeployedProfile[] = [];
  for (const profile of profiles) deployed.push(await deployProfile(kernel, projectId, profile, options));
  return { profiles: deployed, moved: await moveInstances(kernel, projectId, profiles) };
}

/** D5. `boxes`: name → the box that it meant in the bundle; a name that means another by now is somebody else's. */
export async function withdrawProfiles(
  kernel: Kernel,
  project_id: string,
  boxes: ReadonlyMap<string, string>,
): Promise<void> {
  const withdrawn = new Set<string>();
  for (const [name, expected_profile_box_id] of boxes) {
    const outcome = await kernel.removeProfile({ project_id, name, expected_profile_box_id });
    if (outcome.outcome !== "rejected" || outcome.code === "not_found") withdrawn.add(name);
  }
  if (withdrawn.size === 0) return;
  for await (const row of instances(kernel, project_id)) {
    if (!withdrawn.has(ownName(project_id, row) ?? "") || row.status === "inactive") continue;
    await putStatus(kernel, row, "inactive", { ...metadataOf(row), is_withdrawn: true });
  }
}

async function deployProfile(
  kernel: Kernel,
  project_id: string,
  profile: AgentProfile,
  { expectedBoxId }: DeployOptions,
): Promise<DeployedProfile> {
  const { name, worker_target, tags, description } = profile;
  const { card_id, box_id } = idsOf(project_id, profile);
  const data = profile as unknown as JsonObject;
  const before = await kernel.reads.profile(project_id, name);
  const author_id = AUTHOR;
  requireTaken(await kernel.putCard({ project_id, card_id, type: "sys.profile", author_id, content: { data } }), name);
  requireTaken(await kernel.putBox({ project_id, box_id, card_ids: [card_id] }), name);
  const expected = expectedBoxId === undefined ? {} : { expected_profile_box_id: expectedBoxId };
  const record = { project_id, name, profile_box_id: box_id, worker_target, tags, description, ...expected };
  const outcome = requireTaken(await kernel.putProfile(record), name);
  const changed = before === null ? "new" : "changed";
  return { name, profile_box_id: box_id, outcome: outcome === "duplicate" ? "unchanged" : changed };
}

/** D1 */
function idsOf(projectId: string, profile: AgentProfile): { readonly card_id: string; readonly box_id: string } {
  const hash = createHash("sha256")
    .update(JSON.stringify([projectId, profile], sortKeys))
    .digest("hex")
    .slice(0, HASH_CHARS);
  return { card_id: `card_${hash}`, box_id: `box_${hash}` };
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function requireTaken(outcome: WriteOutcome, name: string): "accepted" | "duplicate" {
  if (outcome.outcome !== "rejected") return outcome.outcome;
  const code = isErrorCode(outcome.code) ? outcome.code : "internal_error";
  throw errorOf(code, `the profile of agent ${JSON.stringify(name)} was not taken: ${outcome.code}`);
}

async function moveInstances(
  kernel: Kernel,
  projectId: string,
  profiles: readonly AgentProfile[],
): Promise<readonly MovedInstance[]> {
  const byName = new Map(profiles.map((profile) => [profile.name, profile]));
  const former = formerProfiles(kernel, projectId);
  const moved: MovedInstance[] = [];
  for await (const found of instances(kernel, projectId)) {
    const profile = byName.get(ownName(projectId, found) ?? "");
    if (profile === undefined) continue;
    const one = await moveInstance(kernel, await broughtBack(kernel, found), profile, former);
    if (one !== null) moved.push(one);
  }
  return moved;
}

async function* instances(kernel: Kernel, projectId: string): AsyncGenerator<Row> {
  for (let after = ""; ; ) {
    const rows = await kernel.reads.agents(projectId, { after, limit: PAGE });
    yield* rows;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return;
    after = String(last.agent_id);
  }
}

/** D5 */
async function broughtBack(kernel: Kernel, row: Row): Promise<Row> {
  const { is_withdrawn, ...metadata } = metadataOf(row);
  return is_withdrawn === true ? await putStatus(kernel, row, "active", metadata) : row;
}

async function putStatus(kernel: Kernel, row: Row, status: "active" | "inactive", metadata: JsonObject): Promise<Row> {
  const [project_id, agent_id, worker_target] = [row.project_id, row.agent_id, row.worker_target].map(String) as [
    string,
    string,
    string,
  ];
  requireTaken(await kernel.putAgent({ project_id, agent_id, worker_target, status, metadata }), agent_id);
  return { ...row, status, metadata };
}

function metadataOf({ metadata }: Row): JsonObject {
  return isJsonObject(metadata) ? (metadata as JsonObject) : {};
}

/** The agent of a bundle that a row is an instance of: by its id, which only this package makes, not by what its metadata says. */
function ownName(projectId: string, row: Row): string | null {
  const instance = instanceOf(row);
  if (instance === null) return null;
  const { agent_name, instance_key } = instance;
  return row.agent_id === agentIdOf(projectId, agent_name, instance_key) ? agent_name : null;
}

type FormerProfile = (boxId: string) => Promise<JsonObject | null>;

async function moveInstance(
  kernel: Kernel,
  row: Row,
  profile: AgentProfile,
  former: FormerProfile,
): Promise<MovedInstance | null> {
  const [project_id, agent_id] = [String(row.project_id), String(row.agent_id)];
  const to = idsOf(project_id, profile).box_id;
  const from = typeof row.profile_box_id === "string" ? row.profile_box_id : null;
  if (from === to) return null; // D4
  const old = from === null ? null : await former(from);
  const tags = row.tags as readonly string[];
  requireTaken(
    await kernel.putAgent({
      project_id,
      agent_id,
      profile_box_id: to,
      worker_target: row.worker_target === old?.worker_target ? profile.worker_target : String(row.worker_target), // D3
      tags: isSameSet(tags, old?.tags) ? profile.tags : tags,
      status: row.status === "inactive" ? "inactive" : "active",
    }),
    profile.name,
  );
  return { agent_id, agent_name: profile.name, from, to };
}

/** The documents that instances have now, each read once. */
function formerProfiles(kernel: Kernel, projectId: string): FormerProfile {
  const read = new Map<string, Promise<JsonObject | null>>();
  const readOne = async (boxId: string): Promise<JsonObject | null> => {
    const cards = await kernel.reads.boxCards(projectId, boxId);
    const data = cards.find((card) => card.type === "sys.profile")?.content.data;
    return isJsonObject(data) ? (data as JsonObject) : null;
  };
  return (boxId) => {
    const known = read.get(boxId) ?? readOne(boxId);
    read.set(boxId, known);
    return known;
  };
}

function isSameSet(a: readonly string[], b: unknown): boolean {
  return Array.isArray(b) && a.length === b.length && a.every((tag) => b.includes(tag));
}
