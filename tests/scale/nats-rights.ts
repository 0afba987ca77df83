// What each user of deploy/nats.conf may publish and hear: what nats-permissions.test.ts holds and docs/reference/security.md shows.

export const WORKER = "agent_worker_worker_generic_wakeup_v1r4_default";
export const CALLER = "agent_worker_tool_caller_wakeup_v1r4_default";
export const UI_ACTION = "ui_worker_ui_action_v1r4_default";
export const UI_WAKEUP = "ui_worker_wakeup_ui_worker_v1r4_default";
export const UI_END = "ui_worker_evt_task_v1r4_default";
const PMO = "pmo_service_cmd_v1r4";
const BATCH = "pmo_batch_evt_task_v1r4";
const TICKETS = "tool_tickets_cmd_v1r4_default";
export const EXECUTOR = "tool_executor_cmd_v1r4_default";
export const CMD = "cg_cmd_v1r4";
const EVT = "cg_evt_v1r4";
const OLD_CMD = "cg_cmd_v1r3";

const next = (stream: string, durable: string) => `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
const ack = (stream: string, durable: string) => `$JS.ACK.${stream}.${durable}.1.1.1.1700000000000000000.0`;
const newAck = (stream: string, durable: string) => `$JS.ACK._.hash.${stream}.${durable}.1.1.1.1700000000000000000.0`;
export const create = (stream: string, durable: string, filter: string) =>
  `$JS.API.CONSUMER.CREATE.${stream}.${durable}.${filter}`;

export const SUBJECTS = {
  wakeup: "cg.v1r4.p.c.cmd.agent.worker_generic.wakeup",
  command: "cg.v1r4.p.c.cmd.tool.tickets.buy",
  old_command: "cg.v1r3.p.c.cmd.tool.tickets.buy",
  pmo: "cg.v1r4.p.c.cmd.sys.pmo.internal.fork_join",
  event: "cg.v1r4.p.c.evt.agent.a.task",
  chunk: "cg.v1r4.p.c.str.agent.a.chunk",
} as const;
const STREAM_INFO = [CMD, EVT, OLD_CMD].map((stream) => `$JS.API.STREAM.INFO.${stream}`);

/** What each may publish. Whatever stands here for another user, and not for this one, must be refused. */
export const MAY_PUBLISH: Readonly<Record<string, readonly string[]>> = {
  kernel: [
    ...[SUBJECTS.wakeup, SUBJECTS.command, SUBJECTS.old_command, SUBJECTS.pmo, SUBJECTS.event],
    ...STREAM_INFO,
    ...[CMD, EVT, OLD_CMD].map((stream) => `$JS.API.STREAM.CREATE.${stream}`),
  ],
  worker: [
    ...Object.values(SUBJECTS),
    ...STREAM_INFO,
    ...[`$JS.API.CONSUMER.INFO.${CMD}.${WORKER}`, next(CMD, WORKER), ack(CMD, WORKER), newAck(CMD, WORKER)],
    create(CMD, WORKER, "cg.v1r4.default.*.cmd.agent.worker_generic.wakeup"),
    ...[next(CMD, CALLER), create(CMD, CALLER, "cg.v1r4.default.*.cmd.agent.tool_caller.wakeup")],
    ...["cg.v1r4.p.c.evt.sys.ui.action_ack", next(CMD, UI_ACTION), ack(CMD, UI_ACTION)],
    create(CMD, UI_ACTION, "cg.v1r4.default.*.cmd.sys.ui.action"),
    ...[next(CMD, UI_WAKEUP), create(CMD, UI_WAKEUP, "cg.v1r4.default.*.cmd.agent.ui_worker.wakeup")],
    ...[next(EVT, UI_END), ack(EVT, UI_END), create(EVT, UI_END, "cg.v1r4.default.*.evt.agent.*.task")],
  ],
  pmo: [
    ...[SUBJECTS.wakeup, SUBJECTS.event],
    ...STREAM_INFO,
    ...[next(CMD, PMO), ack(CMD, PMO), newAck(CMD, PMO), create(CMD, PMO, "cg.v1r4.*.*.cmd.sys.pmo.>")],
    ...[next(EVT, BATCH), ack(EVT, BATCH), create(EVT, BATCH, "cg.v1r4.*.*.evt.agent.*.task")],
  ],
  api: [SUBJECTS.wakeup, SUBJECTS.event, ...STREAM_INFO],
  tools: [
    ...[SUBJECTS.wakeup, SUBJECTS.command, SUBJECTS.old_command, SUBJECTS.event],
    ...STREAM_INFO,
    ...[next(CMD, TICKETS), ack(CMD, TICKETS), create(CMD, TICKETS, "cg.v1r4.default.*.cmd.tool.tickets.>")],
    ...[next(CMD, CALLER), create(CMD, CALLER, "cg.v1r4.default.*.cmd.agent.tool_caller.wakeup")],
  ],
  executor: [next(CMD, EXECUTOR), ack(CMD, EXECUTOR), newAck(CMD, EXECUTOR)],
};

/** What each may hear besides its own inbox. */
export const MAY_HEAR: Readonly<Record<string, readonly string[]>> = {
  api: ["cg.v1r4.default.*.cmd.tool.edge.>", "cg.v1r3.default.*.cmd.tool.edge.>"],
};

/** What none of them may publish. */
export const NEVER_PUBLISHED = [
  "cg.v1r4.p.c.cmd.sys.ui.action",
  "cg.v9r9.p.c.cmd.tool.tickets.buy",
  "anything.else",
  `$JS.API.STREAM.DELETE.${CMD}`,
  `$JS.API.STREAM.PURGE.${CMD}`,
  `$JS.API.STREAM.UPDATE.${CMD}`,
  `$JS.API.STREAM.MSG.GET.${CMD}`,
  `$JS.API.STREAM.MSG.DELETE.${CMD}`,
  `$JS.API.STREAM.SNAPSHOT.${CMD}`,
  `$JS.API.DIRECT.GET.${CMD}`,
  "$JS.API.STREAM.CREATE.mine",
  "$JS.API.STREAM.LIST",
  "$JS.API.STREAM.NAMES",
  `$JS.API.CONSUMER.LIST.${CMD}`,
  `$JS.API.CONSUMER.DELETE.${CMD}.${WORKER}`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${CMD}.${WORKER}`,
  `$JS.API.CONSUMER.CREATE.${CMD}`,
  create(CMD, WORKER, "cg.v1r4.*.*.cmd.tool.>"), // its own durable, another user's messages
  create(CMD, TICKETS, "cg.v1r4.default.*.cmd.>"),
  create(CMD, "tool_edge_cmd_v1r4_default", "cg.v1r4.default.*.cmd.tool.edge.>"), // a claim over HTTP leaves nothing behind
  create(CMD, "mine", "cg.v1r4.default.*.cmd.agent.worker_generic.wakeup"),
  "$JS.API.ACCOUNT.PURGE.TESSERA",
  "$SYS.REQ.SERVER.PING",
  "_INBOX_somebody.reply",
];

/** What none of them may hear. */
export const NEVER_HEARD = [
  ...[">", "*.>", "cg.>", "cg.v1r4.*.*.cmd.>", SUBJECTS.command, SUBJECTS.event, SUBJECTS.chunk],
  ...["_INBOX.>", "_INBOX_operator.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$SYS.>"],
];
