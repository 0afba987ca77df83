// deploy/nats.conf in a real nats-server: what each role may do, and what it may not. The bus carries no authority, but a
// role that could read or forge what is another's would see tickets and steal commands.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect, type NatsConnection, PermissionViolationError } from "@nats-io/transport-node";
import { openNatsBus } from "@tessera/engines/nats";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type LocalNats, NATS_CONF, startLocalNats } from "../../scripts/topology/local-nats.ts";
import {
  CALLER,
  CMD,
  create,
  EXECUTOR,
  MAY_HEAR,
  MAY_PUBLISH,
  NEVER_HEARD,
  NEVER_PUBLISHED,
  SUBJECTS,
  UI_ACTION,
  UI_END,
  UI_WAKEUP,
  WORKER,
} from "./nats-rights.ts";

let directory = "";
let nats: LocalNats;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-nats-conf-"));
  nats = await startLocalNats(directory);
});
afterAll(async () => {
  await nats.stop();
  rmSync(directory, { recursive: true, force: true });
});

const ROLES = Object.keys(MAY_PUBLISH);
const PUBLISHED = [...new Set([...Object.values(MAY_PUBLISH).flat(), ...NEVER_PUBLISHED])];
const inboxOf = (user: string) => `_INBOX_${user}.>`;
const HEARD = [...ROLES.map(inboxOf), ...Object.values(MAY_HEAR).flat(), ...NEVER_HEARD];

async function login(user: string): Promise<NatsConnection> {
  const { host, username, password } = new URL(nats.urlOf(user));
  const servers = `nats://${host}`;
  const nc = await connect({
    servers,
    user: username,
    pass: password,
    inboxPrefix: `_INBOX_${user}`,
    reconnect: false,
  });
  onTestFinished(() => nc.close());
  return nc;
}

/** Tries all of it, and answers with what the broker refused. A server answers in order, so the last refusal ends the wait. */
async function refused(nc: NatsConnection, attempt: () => void): Promise<Set<string>> {
  const said: string[] = [];
  void (async () => {
    for await (const status of nc.status()) {
      if (status.type === "error" && status.error instanceof PermissionViolationError) said.push(status.error.subject);
    }
  })();
  attempt();
  nc.publish("the.last.one");
  await waitFor(() => said.includes("the.last.one"), { what: "the last refusal" });
  return new Set(said.filter((subject) => subject !== "the.last.one"));
}

describe.each(ROLES)("%s", (user) => {
  it("publishes what is its own, and every other of the subjects is refused", async () => {
    const nc = await login(user);
    const found = await refused(nc, () => {
      for (const subject of PUBLISHED) nc.publish(subject, "{}");
    });
    const allowed = PUBLISHED.filter((subject) => !found.has(subject));
    expect(allowed.toSorted()).toEqual([...(MAY_PUBLISH[user] ?? [])].toSorted());
  });

  it("hears its own inbox, what is listed for it, and nothing else", async () => {
    const nc = await login(user);
    const found = await refused(nc, () => {
      for (const subject of HEARD) nc.subscribe(subject, { callback: () => {} });
    });
    expect(HEARD.filter((subject) => !found.has(subject))).toEqual([inboxOf(user), ...(MAY_HEAR[user] ?? [])]);
  });
});

it("is a matrix of more than 300 cells", () => {
  expect(ROLES.length * (PUBLISHED.length + HEARD.length)).toBeGreaterThan(300);
});

describe("who is not known", () => {
  it("is refused without a name, with a wrong password and with a name of the server's own account", async () => {
    const servers = `nats://127.0.0.1:${nats.port}`;
    const options = { servers, reconnect: false };
    await expect(connect(options)).rejects.toThrow(/authorization/i);
    await expect(connect({ ...options, user: "kernel", pass: "wrong" })).rejects.toThrow(/authorization/i);
    await expect(connect({ ...options, user: "kernel", pass: "" })).rejects.toThrow(/authorization/i);
    await expect(connect({ ...options, user: "sys", pass: "sys" })).rejects.toThrow(/authorization/i);
    await expect(connect({ ...options, token: "kernel" })).rejects.toThrow(/authorization/i);
  });
});

describe("our own bus", () => {
  it("works with what each role may do: the kernel makes the streams, a worker its durable, and no permission is missing", async () => {
    const warnings: string[] = [];
    const open = async (user: string) => {
      const { host, username, password } = new URL(nats.urlOf(user));
      const onWarning = (text: string) => void (text.includes("CVE-2025-30215") ? null : warnings.push(text));
      const bus = await openNatsBus({ servers: `nats://${host}`, user: username, pass: password, onWarning });
      onTestFinished(() => bus.close());
      return bus;
    };
    const kernel = await open("kernel");
    const worker = await open("worker");
    const heard: string[] = [];
    await worker.subscribe(
      { pattern: "cg.v1r4.default.*.cmd.agent.worker_generic.wakeup", durable: WORKER },
      (delivery) => {
        heard.push(delivery.subject);
        delivery.ack();
      },
    );
    const others = {
      [CALLER]: "cg.v1r4.default.*.cmd.agent.tool_caller.wakeup",
      [UI_ACTION]: "cg.v1r4.default.*.cmd.sys.ui.action",
      [UI_WAKEUP]: "cg.v1r4.default.*.cmd.agent.ui_worker.wakeup",
      [UI_END]: "cg.v1r4.default.*.evt.agent.*.task",
    };
    for (const [durable, pattern] of Object.entries(others)) {
      await worker.subscribe({ pattern, durable }, (delivery) => {
        heard.push(delivery.subject);
        delivery.ack();
      });
    }
    const subjects = ["worker_generic", "tool_caller", "ui_worker"].map(
      (target) => `cg.v1r4.default.c.cmd.agent.${target}.wakeup`,
    );
    const sent = [...subjects, "cg.v1r4.default.c.evt.agent.a.task"];
    await kernel.publish(sent.map((subject) => ({ subject, headers: {}, data: new Uint8Array() })));
    await waitFor(() => heard.length >= sent.length, { what: "what was sent to arrive" });
    expect(heard.toSorted()).toEqual(sent.toSorted());
    expect(warnings).toEqual([]);
  });

  it("a durable cannot be made with another filter in the body than in the subject", async () => {
    const nc = await login("worker");
    const subject = create(CMD, WORKER, "cg.v1r4.default.*.cmd.agent.worker_generic.wakeup");
    const config = { durable_name: WORKER, ack_policy: "explicit", filter_subject: "cg.v1r4.*.*.cmd.>" };
    const answer = await nc.request(subject, JSON.stringify({ stream_name: CMD, config }));
    expect(answer.json()).toMatchObject({ error: { code: 400 } });
  });

  it("an executor takes the commands of the durable that the operator made for it, and only those", async () => {
    const jsm = await jetstreamManager(await login("operator"));
    const filter = "cg.v1r4.default.*.cmd.tool.executor.>";
    await jsm.consumers.add(CMD, { durable_name: EXECUTOR, ack_policy: "explicit", filter_subject: filter });
    const { host, username, password } = new URL(nats.urlOf("executor"));
    const bus = await openNatsBus({ servers: `nats://${host}`, user: username, pass: password });
    onTestFinished(() => bus.close());
    const heard: string[] = [];
    await bus.subscribe({ pattern: filter, durable: EXECUTOR }, (delivery) => {
      heard.push(delivery.subject);
      delivery.ack();
    });
    const kernel = await login("kernel");
    kernel.publish(SUBJECTS.command);
    kernel.publish("cg.v1r4.p.c.cmd.tool.executor.run");
    kernel.publish("cg.v1r4.default.c.cmd.tool.executor.run");
    await waitFor(() => heard.length > 0, { what: "the command to arrive" });
    expect(heard).toEqual(["cg.v1r4.default.c.cmd.tool.executor.run"]);
    const left = async () => (await jsm.consumers.info(CMD, EXECUTOR)).num_ack_pending;
    await waitFor(async () => (await left()) === 0, { what: "its acknowledgement to count" });
  });

  it("an executor that asks for its commands on a subject of the streams stores nothing there", async () => {
    const jsm = await jetstreamManager(await login("operator"));
    const filter = "cg.v1r4.default.*.cmd.tool.executor.>";
    await jsm.consumers.add(CMD, { durable_name: EXECUTOR, ack_policy: "explicit", filter_subject: filter });
    const kernel = await login("kernel");
    for (let n = 0; n < 10; n++) kernel.publish("cg.v1r4.default.c.cmd.tool.executor.run", "{}");
    await kernel.flush();
    const countOf = async (stream: string) => (await jsm.streams.info(stream)).state.messages;
    const stored = async () => [await countOf(CMD), await countOf("cg_evt_v1r4")];
    const before = await stored();
    const executor = await login("executor");
    for (const subject of ["cg.v1r4.default.c.cmd.tool.executor.run", "cg.v1r4.default.c.evt.agent.a.task"]) {
      const request = JSON.stringify({ batch: 1_000, expires: 500_000_000 });
      executor.publish(`$JS.API.CONSUMER.MSG.NEXT.${CMD}.${EXECUTOR}`, request, { reply: subject });
    }
    // Asked behind these, the ten commands come to where they may: so all three requests were served.
    const heard: string[] = [];
    executor.subscribe("_INBOX_executor.here", { callback: (_, message) => void heard.push(message.subject) });
    const request = JSON.stringify({ batch: 10, expires: 20_000_000_000 });
    executor.publish(`$JS.API.CONSUMER.MSG.NEXT.${CMD}.${EXECUTOR}`, request, { reply: "_INBOX_executor.here" });
    await waitFor(() => heard.length >= 10, { what: "the ten commands to arrive" });
    expect(await stored()).toEqual(before);
  });
});

it("the file grants no user all of JetStream, and every password comes from the environment", () => {
  const text = readFileSync(NATS_CONF, "utf8");
  const lines = text.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  expect(lines.filter((line) => /"(>|\$JS\.>|\$JS\.API\.>|_INBOX\.>)"/.test(line))).toEqual([]);
  const passwords = lines.filter((line) => line.includes("password"));
  expect(passwords.length).toBe(nats.users.length);
  for (const line of passwords) expect(line).toMatch(/password: \$TESSERA_NATS_[A-Z]+_PASSWORD$/);
});
