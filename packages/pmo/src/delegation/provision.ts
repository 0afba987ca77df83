// provision_agent: an agent is made sure of, created, or derived from another (docs/protocol/internal-tools.md).
//
//   V1. An agent that exists keeps its profile, owner, worker target and tags; asking for others is refused by name. Its
//       display name and metadata may be changed by its owner only, and it is not switched on again here.
//   V2. The same request again finds what the first one made and answers `roster_updated: false`.
//   V3. A model's metadata never says which agent it makes: those keys are refused, or the next deploy would give it another
//       profile than its policy allows.

import type { AgentRecord, Kernel, OpenedCall, Row } from "@tessera/kernel";
import { type ErrorCode, isId, isJsonObject, isToken, type JsonObject } from "@tessera/protocol";
import { type ArgumentReader, NAME_CHARS_MAX, readArguments } from "../argument-reader.ts";
import { isRefused, type Refused, refused, type ToolAnswer } from "../tool-answer.ts";
import { isWritten } from "../write-outcome.ts";
import { type Caller, type ProfileFacts, profileOfBox, readCaller, textOf } from "./caller.ts";
import { denied, identityEdge } from "./resolve-target.ts";

type ProvisionKernel = Pick<Kernel, "putAgent" | "reads">;

const ACTIONS = ["ensure", "create", "derive"] as const;
const FIELDS = [
  "action",
  "agent_id",
  "profile_name",
  "profile_box_id",
  "derived_from",
  "display_name",
  "owner_agent_id",
  "worker_target",
  "active_channel_id",
  "tags",
  "metadata",
];
const TAGS_MAX = 64;
/** What the roster itself keeps about an agent: which agent of a bundle it is an instance of decides its profile. */
const OWN_METADATA: ReadonlySet<string> = new Set([
  "agent_name",
  "instance_key",
  "owner_agent",
  "owner_instance_key",
  "derived_from",
  "extensions",
  "operation",
  "cwd",
]);

interface ProvisionArguments {
  readonly action: (typeof ACTIONS)[number];
  readonly agent_id: string;
  readonly derived_from: string | undefined;
  readonly profile_name: string | undefined;
  readonly profile_box_id: string | undefined;
  readonly display_name: string | undefined;
  readonly owner_agent_id: string | undefined;
  readonly worker_target: string | undefined;
  readonly tags: readonly string[] | undefined;
  readonly metadata: JsonObject | undefined;
}

export async function provision(kernel: ProvisionKernel, call: OpenedCall): Promise<ToolAnswer> {
  const args = readProvision(call.arguments);
  if (isRefused(args)) return args;
  const { reads } = kernel;
  const caller = await readCaller(reads, call);
  const existing = await reads.agent(call.project_id, args.agent_id);
  const source = args.derived_from === undefined ? null : await reads.agent(call.project_id, args.derived_from);
  if (args.derived_from !== undefined && source === null) {
    return refused("not_found", `there is no agent ${args.derived_from} to derive from`, args.agent_id);
  }
  const owner = args.owner_agent_id;
  if (owner !== undefined && owner !== call.agent_id && (await reads.agent(call.project_id, owner)) === null) {
    return refused("not_found", `there is no agent ${owner} to own it`, args.agent_id);
  }
  const profile = await profileFor(kernel, call, args, existing, source);
  if (isRefused(profile)) return profile;
  const denial = denied(caller, profile, args.agent_id);
  if (denial !== null) return denial;
  if (existing !== null) return await keepExisting(kernel, caller, args, profile, existing);
  return await createAgent(kernel, caller, args, profile, source);
}

function readProvision(given: unknown): ProvisionArguments | Refused {
  const args = readArguments("provision_agent", given, FIELDS);
  const action = ACTIONS.find((known) => known === args.value("action"));
  if (action === undefined) return refused("invalid_action", `args.action must be one of ${ACTIONS.join(", ")}`);
  const agent_id = args.value("agent_id");
  if (agent_id === undefined || agent_id === "") return refused("missing_agent_id", "args.agent_id is missing");
  if (!isId(agent_id)) return args.refuse("agent_id", "is not a legal id");
  const tags = args.value("tags");
  const isTags =
    Array.isArray(tags) && tags.length <= TAGS_MAX && tags.every((tag) => typeof tag === "string" && tag !== "");
  if (tags !== undefined && !isTags) return refused("invalid_tags", "args.tags must be a list of strings", agent_id);
  const metadata = args.value("metadata");
  if (metadata !== undefined && !isJsonObject(metadata)) {
    return refused("invalid_metadata", "args.metadata must be an object", agent_id);
  }
  const own = Object.keys(metadata ?? {}).find((key) => OWN_METADATA.has(key));
  if (own !== undefined)
    return refused("invalid_metadata", `args.metadata.${own} is not the caller's to set`, agent_id); // V3
  const derived_from = args.optionalId("derived_from");
  if (action === "derive" && derived_from === undefined) {
    return refused(
      "missing_derived_from",
      "args.derived_from is missing: derive needs an agent to derive from",
      agent_id,
    );
  }
  const channel = args.optionalId("active_channel_id");
  const kept = channel === undefined ? metadata : { ...metadata, active_channel_id: channel };
  return {
    action,
    agent_id,
    derived_from: action === "derive" ? derived_from : undefined,
    profile_name: args.optionalText("profile_name", NAME_CHARS_MAX),
    profile_box_id: args.optionalId("profile_box_id"),
    display_name: args.optionalText("display_name", NAME_CHARS_MAX),
    owner_agent_id: args.optionalId("owner_agent_id"),
    worker_target: workerTarget(args),
    tags: tags as string[] | undefined,
    metadata: kept as JsonObject | undefined,
  };
}

function workerTarget(args: ArgumentReader): string | undefined {
  const target = args.optionalText("worker_target");
  return target === undefined || isToken(target) ? target : args.refuse("worker_target", "is not one legal token");
}

/** The profile that is meant: named, in the box, the one derived from, or the one an existing agent has. */
async function profileFor(
  { reads }: ProvisionKernel,
  { project_id }: OpenedCall,
  args: ProvisionArguments,
  existing: Row | null,
  source: Row | null,
): Promise<ProfileFacts | Refused> {
  const no = (code: ErrorCode, message: string) => refused(code, message, args.agent_id);
  const { profile_name, profile_box_id } = args;
  const named = profile_name === undefined ? null : await reads.profile(project_id, profile_name);
  if (profile_name !== undefined && named === null) {
    return no("profile_not_found", `there is no profile named ${JSON.stringify(profile_name)}`);
  }
  if (profile_box_id !== undefined && (await reads.box(project_id, profile_box_id)) === null) {
    return no("profile_box_missing", `there is no box ${profile_box_id}`);
  }
  const boxed = profile_box_id === undefined ? null : await profileOfBox(reads, project_id, profile_box_id);
  if (profile_box_id !== undefined && boxed === null) {
    return no("profile_not_found", `the box ${profile_box_id} holds no profile`);
  }
  if (named !== null && boxed !== null && named.name !== boxed.name) {
    return no("profile_mismatch", `the box holds the profile ${JSON.stringify(boxed.name)}`);
  }
  const asked = boxed ?? named;
  const origin = source ?? (asked === null ? existing : null);
  if (origin === null) {
    return asked ?? no("missing_profile_name", "args.profile_name is missing: a new agent needs a profile");
  }
  const box = textOf(origin.profile_box_id);
  const inherited = box === null ? null : await profileOfBox(reads, project_id, box);
  if (inherited === null) {
    const code = source === null ? "profile_not_found" : "missing_derived_profile_name";
    return no(code, `the agent ${String(origin.agent_id)} has no profile with a name`);
  }
  if (asked !== null && asked.name !== inherited.name) {
    return no("profile_mismatch", `the agent to derive from has the profile ${JSON.stringify(inherited.name)}`);
  }
  return inherited;
}

/** V1 */
async function keepExisting(
  kernel: ProvisionKernel,
  { call }: Caller,
  args: ProvisionArguments,
  profile: ProfileFacts,
  existing: Row,
): Promise<ToolAnswer> {
  const no = (code: ErrorCode) => refused(code, `the agent ${args.agent_id} exists already and differs`, args.agent_id);
  const metadata = isJsonObject(existing.metadata) ? existing.metadata : {};
  const isDerivedElsewhere = args.action === "derive" && metadata.derived_from !== args.derived_from;
  if (isDerivedElsewhere) return no("derived_agent_conflict");
  const box = textOf(existing.profile_box_id);
  const has = box === null ? null : await profileOfBox(kernel.reads, call.project_id, box);
  // A newer upload of the same profile is not another profile: the agent keeps the box it was made with.
  if (has?.name !== profile.name) return no("existing_agent_profile_mutation_forbidden");
  if (args.owner_agent_id !== undefined && args.owner_agent_id !== existing.owner_agent_id) {
    return no("existing_agent_owner_mutation_forbidden");
  }
  if (args.worker_target !== undefined && args.worker_target !== existing.worker_target) {
    return no("existing_agent_worker_target_mutation_forbidden");
  }
  if (args.tags !== undefined && !isSameSet(args.tags, existing.tags as string[])) {
    return no("existing_agent_tags_mutation_forbidden");
  }
  if (existing.status !== "active") {
    return refused("auth_failed", `the agent ${args.agent_id} was switched off`, args.agent_id); // V1
  }
  const merged = { ...metadata, ...args.metadata };
  const isChanged =
    (args.display_name !== undefined && args.display_name !== existing.display_name) ||
    JSON.stringify(merged) !== JSON.stringify(metadata);
  if (!isChanged) return accepted(args.agent_id, false); // V2
  if (existing.owner_agent_id !== call.agent_id) {
    return refused("auth_failed", `the agent ${args.agent_id} is not this agent's to change`, args.agent_id); // V1
  }
  isWritten(
    await kernel.putAgent({
      project_id: call.project_id,
      agent_id: args.agent_id,
      worker_target: String(existing.worker_target),
      display_name: args.display_name,
      metadata: merged,
    }),
    "not_found",
  );
  return accepted(args.agent_id, true);
}

async function createAgent(
  kernel: ProvisionKernel,
  caller: Caller,
  args: ProvisionArguments,
  profile: ProfileFacts,
  source: Row | null,
): Promise<ToolAnswer> {
  const { call } = caller;
  const worker_target = args.worker_target ?? textOf(source?.worker_target) ?? profile.worker_target;
  if (worker_target === null) {
    return refused(
      "worker_target_missing",
      "neither the arguments nor the profile name a worker target",
      args.agent_id,
    );
  }
  const newcomer: AgentRecord = {
    project_id: call.project_id,
    agent_id: args.agent_id,
    profile_box_id: profile.profile_box_id,
    worker_target,
    tags: args.tags ?? (source?.tags as string[] | undefined) ?? profile.tags,
    display_name: args.display_name ?? profile.name,
    owner_agent_id: args.owner_agent_id ?? call.agent_id,
    metadata: {
      agent_name: profile.name,
      derived_from: args.derived_from,
      ...args.metadata,
    },
    identity_edge: identityEdge(caller, args.action, args.derived_from ?? call.agent_id, 0),
  };
  if (!isWritten(await kernel.putAgent(newcomer), "not_found")) {
    return refused("profile_box_missing", `the box ${profile.profile_box_id} does not exist`, args.agent_id);
  }
  return accepted(args.agent_id, true);
}

function accepted(agent_id: string, roster_updated: boolean): ToolAnswer {
  return { accepted: { status: "accepted", agent_id, roster_updated } };
}

function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((tag) => b.includes(tag));
}
