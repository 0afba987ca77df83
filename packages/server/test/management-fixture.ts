// The server's fixture with everything that runtime wires to it: a real reader of profiles, tool calls as the agents' package
// commits them, a verifier. No worker runs; a test works on the turns itself.

import { createHash } from "node:crypto";
import { readProfileYaml } from "@tessera/agent";
import { verifyStore } from "@tessera/kernel";
import { BadRequest, errorOf } from "@tessera/protocol";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll } from "vitest";
import type { Server, ServerOptions } from "../src/index.ts";
import type { ProfileDocuments, ServerPorts, ToolCalls } from "../src/ports.ts";
import { type Answer, OTHER, PROJECT, ServerFixture } from "./fixture.ts";

const CALLERS = "callers";
/** As long as the longest pause between two looks at a turn. */
const LOOK_MS = 250;
const hashOf = (...parts: unknown[]) => createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32);

export class ManagementFixture extends ServerFixture {
  override async open(): Promise<void> {
    await super.open();
    await this.key("admin1", { role: "admin", project_id: PROJECT });
    await this.key("operator2", { role: "operator", project_id: OTHER });
    await this.key("allViewer", { role: "viewer" });
  }

  override another(options: Partial<ServerOptions> = {}): Promise<Server> {
    return super.another({ ports: this.ports(), ...options });
  }

  ports(): ServerPorts {
    return {
      profiles: this.profiles,
      toolCalls: this.toolCalls,
      verify: ({ drained }) => verifyStore(this.store.database, { drained, clock: this.clock }),
      isGodEnabled: true,
    };
  }

  readonly profiles: ProfileDocuments = {
    deploy: async (bytes, { projectId: project_id, file, expected }) => {
      const { profile } = readProfileYaml(bytes, file === undefined ? {} : { file });
      const { name, worker_target, tags, description } = profile;
      if (expected !== undefined && expected.name !== name) {
        throw new BadRequest(`the document names ${name}`, { details: { field: "name" } });
      }
      const hash = hashOf(project_id, profile);
      const [card_id, box_id] = [`card_${hash}`, `box_${hash}`];
      const before = await this.kernel.reads.profile(project_id, name);
      const content = { data: profile as never };
      await this.kernel.putCard({ project_id, card_id, type: "sys.profile", author_id: "sys.test", content });
      await this.kernel.putBox({ project_id, box_id, card_ids: [card_id] });
      const outcome = await this.kernel.putProfile({
        ...{ project_id, name, profile_box_id: box_id, worker_target, tags, description },
        ...(expected?.profile_box_id === undefined ? {} : { expected_profile_box_id: expected.profile_box_id }),
      });
      if (outcome.outcome === "rejected") throw errorOf(outcome.code, `the profile ${name} was not taken`);
      const changed = before === null ? "new" : "changed";
      return { name, outcome: outcome.outcome === "duplicate" ? "unchanged" : changed };
    },
  };

  readonly toolCalls: ToolCalls = {
    request: async ({ project_id, tool_name, arguments: given, channel_id, agent_id, idempotency_key, trace_id }) => {
      const id = idempotency_key === undefined ? this.ids.mint("call") : `call_${hashOf(project_id, idempotency_key)}`;
      const caller = agent_id ?? id;
      await this.kernel.putBox({ project_id, box_id: `box_caller_${project_id}` });
      await this.kernel.putAgent({
        ...{ project_id, agent_id: caller, worker_target: CALLERS, profile_box_id: `box_caller_${project_id}` },
      });
      const outcome = await this.kernel.enqueueTurn({
        ...{ project_id, agent_id: caller, ...(channel_id === undefined ? {} : { channel_id }) },
        ...(idempotency_key === undefined ? {} : { agent_turn_id: `turn_${hashOf(project_id, idempotency_key)}` }),
        ...(trace_id === undefined ? {} : { trace_id }),
        runtime_config: { tool_call: { name: tool_name, arguments: given as never } },
      });
      if (outcome.outcome === "rejected") throw errorOf(outcome.code, "the turn was refused");
      return { agent_turn_id: outcome.agent_turn_id, agent_id: caller, isNew: outcome.outcome === "accepted" };
    },
    requestInternal: async ({ caller_agent_id: _, after_execution: __, ...order }) =>
      await this.toolCalls.request(order),
  };

  /** Takes the turn that an agent has now. */
  async take(agent_id: string, project_id = PROJECT) {
    const worker_id = this.ids.mint("worker");
    await this.kernel.renewWorker({ worker_id, worker_target: CALLERS });
    const turn = await this.kernel.resume({ project_id, agent_id, worker_id });
    if (turn.outcome !== "accepted") throw new Error(JSON.stringify(turn));
    const { agent_turn_id, turn_epoch } = turn;
    return { project_id, agent_id, agent_turn_id, turn_epoch };
  }

  /** Ends a turn as a tool caller does: with the result, word for word. */
  async endCall(
    agentId: string,
    data: { status: "success" | "failed"; result: unknown; error: unknown },
  ): Promise<void> {
    const hold = await this.take(agentId);
    await this.kernel.finishTurn({
      ...{ ...hold, status: data.status },
      deliverable: { card_id: this.ids.mint("card"), author_id: agentId, content: { data: data as never } },
    });
  }

  /** The answer of a request that waits: time moves until it is there. */
  async answered(asked: Promise<Answer>): Promise<Answer> {
    let answer: Answer | null = null;
    void asked.then((arrived) => {
      answer = arrived;
    });
    const condition = async (): Promise<Answer | null> => {
      await this.clock.advance(LOOK_MS);
      return answer;
    };
    return await waitFor(condition, { what: "an answer" });
  }

  get(path: string, key = "viewer", server = this.server): Promise<Answer> {
    return this.send("GET", path, { key }, server);
  }

  post(path: string, json: unknown, key = "operator", headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.send("POST", path, { key, json, headers });
  }

  /** Every row of a list, page by page; fails when a page is longer than asked for, or the list does not end. */
  async pages(path: string, plural: string, limit: number, key = "viewer"): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const more = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const url = `${path}${path.includes("?") ? "&" : "?"}limit=${limit}${more}`;
      const answer = await this.get(url, key);
      if (answer.status !== 200) throw new Error(`${url}: ${answer.text}`);
      if (answer.body[plural].length > limit || rows.length > 1_000) throw new Error(`${url} is longer than it may be`);
      rows.push(...answer.body[plural]);
      cursor = answer.body.next_cursor;
    }
    return rows;
  }
}

export function useManagement(): ManagementFixture {
  const fixture = new ManagementFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());
  return fixture;
}
