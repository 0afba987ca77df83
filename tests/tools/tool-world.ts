// Nodes, tool hosts, the API and executors, put together by the runtime as a user would, on either engine.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type EdgeExecutor, type EdgeExecutorOptions, startEdgeExecutor } from "@tessera/executor";
import {
  type Bus,
  type BusMessage,
  type CardDocument,
  type Kernel,
  migrate,
  SCHEMA_DIGEST,
  verifyStore,
} from "@tessera/kernel";
import {
  type Api,
  callTool,
  connectExecutor,
  type Node,
  openApi,
  openNode,
  openToolHost,
  startToolCaller,
  type ToolCallAnswer,
  type ToolCaller,
  type ToolHost,
  type ToolHostOptions,
} from "@tessera/runtime";
import { createTestDatabases, type TestEngine } from "@tessera/testkit";
import type { ToolLogEntry } from "@tessera/tool";
import { expect, inject } from "vitest";

export interface HostedProject {
  readonly project: string;
  readonly host: ToolHost;
  readonly caller: ToolCaller;
}

export class ToolWorld {
  readonly node: Node;
  readonly logs: ToolLogEntry[] = [];
  readonly warnings: string[] = [];
  /** Everything this node has put on its bus. */
  readonly published: BusMessage[] = [];
  readonly directory = mkdtempSync(join(tmpdir(), "tessera-tools-"));
  readonly #closing: (() => Promise<void>)[] = [];
  #api: Promise<Api> | null = null;
  #projects = 0;

  /** PGlite in memory with the memory bus, or PostgreSQL with NATS. */
  static async open(engine: TestEngine): Promise<ToolWorld> {
    const closing: (() => Promise<void>)[] = [];
    const warnings: string[] = [];
    const quiet = { onWarning: (warning: string) => void warnings.push(warning), onFatal: () => undefined };
    if (engine === "pglite") return new ToolWorld(await openNode(quiet), closing, warnings);
    const store = await createTestDatabases({
      engine,
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    }).open();
    closing.push(() => store.close());
    return new ToolWorld(
      await openNode({ postgres: store.url ?? "", nats: inject("natsUrl"), sweepIntervalMs: 200, ...quiet }),
      closing,
      warnings,
    );
  }

  private constructor(node: Node, closing: (() => Promise<void>)[], warnings: string[]) {
    this.node = node;
    this.warnings = warnings;
    this.#closing = closing;
    closing.push(() => node.close());
    this.#observe(node.bus);
  }

  #observe(bus: { publish: Bus["publish"] }): void {
    const publish = bus.publish.bind(bus);
    bus.publish = async (messages) => {
      this.published.push(...messages);
      await publish(messages);
    };
  }

  /** A bundle directory with these files. */
  bundle(files: Readonly<Record<string, string>>): string {
    const root = mkdtempSync(join(this.directory, "bundle-"));
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return root;
  }

  newProject(): string {
    this.#projects += 1;
    return this.node.ids.mint(`p${this.#projects}`).slice(0, 40);
  }

  async host({
    callerLeaseMs,
    ...options
  }: Partial<ToolHostOptions> & { readonly callerLeaseMs?: number } = {}): Promise<HostedProject> {
    const project = options.project ?? this.newProject();
    const onWarning = (warning: string) => void this.warnings.push(warning);
    const onLog = (entry: ToolLogEntry) => void this.logs.push(entry);
    const host = await openToolHost({
      node: this.node,
      project,
      env: {},
      executor: "host-1",
      openApiTargets: [],
      onLog,
      onWarning,
      ...options,
    });
    this.#closing.push(() => host.close({ graceMs: 100 }));
    const caller = await startToolCaller({
      ...this.node,
      runner: host.runner,
      isHosted: host.isHosted,
      project,
      ...(callerLeaseMs === undefined ? {} : { leaseMs: callerLeaseMs }),
      onLog,
      onWarning,
    });
    this.#closing.push(() => caller.stop());
    return { project, host, caller };
  }

  async call(
    { project, caller }: Pick<HostedProject, "project" | "caller">,
    tool_name: string,
    args: unknown,
    options: { readonly waitMs?: number; readonly agent_id?: string } = {},
  ): Promise<ToolCallAnswer> {
    const { waitMs = 20_000, ...agent } = options;
    const request = { project_id: project, tool_name, arguments: args, ...agent };
    return await callTool(this.node, caller, request, { waitMs });
  }

  /** One for all; a test that wants other leases than the usual ones asks first. */
  api(leaseMs?: number): Promise<Api> {
    this.#api ??= openApi({
      node: leaseMs === undefined ? this.node : { ...this.node, kernel: withLeases(this.node.kernel, leaseMs) },
      port: 0,
      onWarning: (warning) => void this.warnings.push(warning),
    }).then((api) => {
      this.#closing.push(() => api.close());
      return api;
    });
    return this.#api;
  }

  /** A key of the role `executor` for one target of a project. */
  async executorKey(project: string, target: string): Promise<string> {
    const key = await this.node.kernel.createApiKey({ role: "executor", project_id: project, targets: [target] });
    if (key.outcome === "rejected") throw new Error(key.code);
    return key.text;
  }

  /** Runs a host's tools over the HTTP edge. */
  async edge(
    { project, host }: HostedProject,
    target: string,
    { url: given, ...options }: Partial<EdgeExecutorOptions> & { readonly url?: string } = {},
  ): Promise<EdgeExecutor> {
    const url = given ?? (await this.api()).url;
    const link = await connectExecutor({ url, apiKey: await this.executorKey(project, target), onWarning: () => {} });
    const executor = startEdgeExecutor({
      ...link,
      project_id: project,
      target,
      executor: "edge-1",
      runner: host.runner,
      waitMs: 2_000,
      onLog: (entry) => void this.logs.push(entry),
      onWarning: (warning) => void this.warnings.push(warning),
      ...options,
    });
    this.#closing.push(async () => {
      await executor.stop({ graceMs: 100 });
      await link.close();
    });
    return executor;
  }

  /** Something to end before the node. */
  closeFirst(close: () => Promise<void>): void {
    this.#closing.push(close);
  }

  async cardsOf(project: string, turnId: string): Promise<CardDocument[]> {
    const turn = await this.node.kernel.reads.turn(project, turnId);
    return await this.node.kernel.reads.boxCards(project, String(turn?.output_box_id));
  }

  async expectSafe(): Promise<void> {
    expect((await verifyStore(this.node.store.database, { only: "safety" })).violations).toEqual([]);
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** The kernel whose executors get their calls for so long at a time. */
function withLeases(kernel: Kernel, leaseMs: number): Kernel {
  return {
    ...kernel,
    openCall: (request) => kernel.openCall({ ...request, lease_ms: leaseMs }),
    claimCalls: (request) => kernel.claimCalls({ ...request, lease_ms: leaseMs }),
    renewCall: (hold) => kernel.renewCall({ ...hold, lease_ms: leaseMs }),
  };
}
