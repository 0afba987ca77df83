// What a run is asked to do: a project with tools and agents, turns over half a minute, some of them stopped.
//
//   W1. The project is made without faults; asking for turns goes over a process that meets them like all others and asks
//       again until it is answered.
//   W2. In some runs few agents are asked often, some turns are fresh starts, conversations are reset, agents remember little,
//       tools ask other agents without waiting (async-requests.ts), and some of those are stopped. What this needs is drawn beside the
//       rest, so that other seeds run as they did.

import { type AgentProfile, deployProfiles } from "@tessera/agent";
import { type Database, type Ids, type Kernel, openKernel } from "@tessera/kernel";
import { SimProcess, type SimRandom } from "@tessera/testkit/sim";
import type { Cast, CastWorld } from "./cast.ts";
import { BOSS, HELPER } from "./sim-model.ts";
import { simTools } from "./sim-tools.ts";

const PROJECT = "sim";
const WORKER_TARGET = "worker_generic";
const ASK_MS_MAX = 15_000;
const STOP_MS_MAX = 20_000;
const STOP_CHANCE = 0.2;
const AGAIN_MS = 1_000;
/** W2 */
export const CONVERSES_CHANCE = 0.3;
const CONVERSING_AGENTS_MAX = 2;
const FRESH_CHANCE = 0.2;
const RESETS_MAX = 2;
const CHILDREN_STOPPED_MAX = 2;
const MEMORY_TURNS = [0, 1, 2, 3, 40] as const;
const ACTIVE_CHILD = `
  select agent_turn_id from state.agent_turns where answers_parent and ended_at is null order by agent_turn_id limit 1`;

const PROFILE: AgentProfile = {
  schema_version: 1,
  name: HELPER,
  description: "",
  worker_target: WORKER_TARGET,
  tags: [],
  model: { provider: "scripted", model: "sim" },
  system_prompt: "",
  allowed_tools: null,
  allowed_internal_tools: [],
  must_end_with: [],
  required_tools: [],
  delegation_policy: null,
  max_steps: 4,
  extensions: [],
  swarm: null,
};
const BOSS_PROFILE: AgentProfile = {
  ...PROFILE,
  name: BOSS,
  allowed_internal_tools: ["fork_join"],
  delegation_policy: { target_tags: [], target_profiles: null },
};

/** Makes the project; answers the agents (W1). */
export async function makeProject(world: CastWorld, agents: number, conversing: SimRandom | null): Promise<string[]> {
  const { store, ids, scheduler } = world;
  const maker = new SimProcess(scheduler, { name: "maker", role: "maker", rate: 1 });
  const kernel = openKernel({ database: store, bus: SILENT_BUS, clock: maker.clock, ids });
  await kernel.putProject({ project_id: PROJECT });
  for (const { definition } of simTools(world, maker))
    await kernel.putTool({ project_id: PROJECT, ...definition } as never);
  const memory = conversing === null ? {} : { memory: { turns: conversing.pick(MEMORY_TURNS), characters: 1_000_000 } };
  const deployed = [{ ...PROFILE, ...memory }, BOSS_PROFILE];
  const { profiles } = await deployProfiles(kernel, PROJECT, deployed);
  const count = conversing === null ? agents : Math.min(agents, CONVERSING_AGENTS_MAX);
  const made = Array.from({ length: count }, (_, n) => ({ agent_id: `agent${n}`, profile: profiles[n % 2] }));
  for (const { agent_id, profile } of made) {
    if (profile === undefined) throw new Error("the profiles were not deployed");
    const metadata = { agent_name: profile.name, instance_key: agent_id };
    const row = { project_id: PROJECT, agent_id, worker_target: WORKER_TARGET, profile_box_id: profile.profile_box_id };
    const outcome = await kernel.putAgent({ ...row, metadata });
    if (outcome.outcome === "rejected") throw new Error(`no agent: ${outcome.code}`);
  }
  return made.map(({ agent_id }) => agent_id);
}

export interface Workload {
  /** Turns that were asked for and answered for. */
  readonly asked: ReadonlySet<string>;
  isOver(): boolean;
}

export function startWorkload(
  world: CastWorld,
  cast: Cast,
  { agents, turns, conversing }: { agents: readonly string[]; turns: number; conversing: SimRandom | null },
): Workload {
  const { scheduler, random, ids } = world;
  const { process, kernel } = cast.create("client");
  const asked = new Set<string>();
  let open = turns;
  for (let n = 0; n < turns; n++) {
    const agent_id = random.pick(agents);
    const agent_turn_id = ids.mint("turn");
    const stopAfterMs = random.chance(STOP_CHANCE) ? random.between(0, STOP_MS_MAX) : null;
    const is_fresh = conversing?.chance(FRESH_CHANCE) ?? false;
    if (is_fresh) world.requests.noteFresh(agent_turn_id);
    scheduler.schedule(process, random.between(0, ASK_MS_MAX), "ask", async () => {
      void ask(kernel, ids, { agent_id, agent_turn_id, is_fresh }).then(() => {
        asked.add(agent_turn_id);
        if (stopAfterMs === null) open -= 1;
        else scheduler.schedule(process, stopAfterMs, "stop", () => void stop(agent_turn_id));
      });
    });
  }

  if (conversing !== null) startConversing(conversing);

  /** W2 */
  function startConversing(drawn: SimRandom): void {
    for (let n = drawn.int(0, RESETS_MAX); n > 0; n--) later(drawn, "reset", () => reset(drawn.pick(agents)));
    for (let n = drawn.int(0, CHILDREN_STOPPED_MAX); n > 0; n--) {
      later(drawn, "stop a child", async () => {
        const [child] = await world.store.query<{ agent_turn_id: string }>(ACTIVE_CHILD);
        if (child !== undefined) void stop(child.agent_turn_id);
        else open -= 1;
      });
    }
  }
  function later(drawn: SimRandom, label: string, work: () => void | Promise<void>): void {
    open += 1;
    scheduler.schedule(process, drawn.between(0, ASK_MS_MAX + STOP_MS_MAX), label, work);
  }
  function reset(agent_id: string): void {
    const request = { project_id: PROJECT, agent_id, card_id: ids.mint("card"), author_id: "sys.sim" };
    void untilAnswered(() => kernel.resetConversation(request)).then(() => {
      open -= 1;
    });
  }
  async function ask(
    port: Kernel,
    mint: Ids,
    turn: { agent_id: string; agent_turn_id: string; is_fresh: boolean },
  ): Promise<void> {
    const card = {
      card_id: mint.mint("card"),
      type: "task.instruction",
      author_id: "sys.sim",
      content: { text: `do ${turn.agent_turn_id}` },
    };
    await untilAnswered(async () => {
      const outcome = await port.enqueueTurn({ project_id: PROJECT, ...turn, context_cards: [card] });
      if (outcome.outcome === "rejected") throw new Error(`the turn was refused: ${outcome.code}`);
    });
  }
  async function stop(agent_turn_id: string): Promise<void> {
    await untilAnswered(() => kernel.stopTurn({ project_id: PROJECT, agent_turn_id, reason: "sim" }));
    open -= 1;
  }
  async function untilAnswered(work: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await work();
        return;
      } catch (error) {
        world.log.add(`  asking again: ${String(error)}`);
        await new Promise<void>((resolve) => void process.clock.after(AGAIN_MS, resolve));
      }
    }
  }
  return { asked, isOver: () => open === 0 };
}

const SILENT_BUS = {
  capabilities: { kind: "memory", messageBytesMax: 1, exclusiveDurables: true, keepsForAbsent: false },
  publish: async () => undefined,
  subscribe: async () => ({ stop: async () => undefined }),
  health: () => ({ connected: true, connections: 1, warnings: [] }),
  close: async () => undefined,
} as const satisfies Parameters<typeof openKernel>[0]["bus"];

/** Whether nothing is under way any more. */
export async function isDrained(store: Database): Promise<boolean> {
  const [row] = await store.query<{ open: boolean }>(`
    select exists (select 1 from state.agent_turns where ended_at is null)
        or exists (select 1 from state.calls where wait_status = 'waiting')
        or exists (select 1 from state.pmo_batches where status = 'running')
        or exists (select 1 from state.inbox where message_type = 'answer' and status = 'deferred') as open`);
  return row?.open === false;
}

export async function callsMade(store: Database): Promise<number> {
  const [row] = await store.query<{ calls: string }>("select count(*)::text as calls from state.calls");
  return Number(row?.calls);
}

/** What is under way and should not be, for the message of a run that does not end. */
export async function openWork(store: Database): Promise<string> {
  const turns = await store.query(`
    select t.agent_turn_id, t.status, h.status::text as head, h.holder, h.turn_epoch, h.step_id, h.open_calls, n.status as inbox, n.due_at
      from state.agent_turns t left join state.agent_state_head h on h.active_agent_turn_id = t.agent_turn_id
      left join state.inbox n on n.inbox_id = t.agent_turn_id
     where t.ended_at is null order by t.created_at limit 3`);
  const calls = await store.query(`
    select tool_call_id, tool_name, wait_status::text as wait, claimed_by, attempt, due_at, deadline_at, batch_id
      from state.calls where wait_status = 'waiting' order by created_at limit 3`);
  return `open turns ${JSON.stringify(turns)}, waiting calls ${JSON.stringify(calls)}`;
}
