// The threats, what holds against each, and where it is tested; and what is not built, with the reason.

export interface Threat {
  readonly threat: string;
  readonly holds: string;
  readonly tests: readonly string[];
}

const SERVER = "packages/server/src";
const EXECUTOR = "packages/executor/src";

// biome-ignore format: one threat per line
export const THREATS: readonly Threat[] = [
  { threat: "A forged report", holds: "A capability per attempt, kept as a hash, and the principal that claimed; 24 variants on both engines change no row and leave one line in the audit", tests: ["tests/security/report-forgery.test.ts", "packages/kernel/test/report-codes.test.ts", `${SERVER}/executors/reports.test.ts`] },
  { threat: "A forged command", holds: "A ticket per call and attempt; without it nothing runs and nothing settles", tests: ["tests/tools/commands.test.ts", "packages/kernel/test/open-call.test.ts"] },
  { threat: "One tenant reaching another", holds: "Every route with another's ids and another's keys; streams, bus, and the last word after a deletion", tests: [`${SERVER}/access/isolation.test.ts`, `${SERVER}/access/rights.test.ts`, "tests/security/tenants.test.ts", "packages/kernel/test/resources/projects.test.ts"] },
  { threat: "A NATS user that leaves its role", holds: "One user per role, everything denied that is not listed; inboxes of their own", tests: ["tests/scale/nats-permissions.test.ts"] },
  { threat: "A database login that leaves its role", holds: "Rights by role to every table, view and function; no way around by roles, names, files or sessions", tests: ["tests/security/database-roles.test.ts", "packages/kernel/test/rights/roles.test.ts", "packages/kernel/test/rights/role-split.test.ts"] },
  { threat: "The API without a key, or with the wrong one", holds: "Roles per route; one 401 for all; Host and Origin are checked on loopback, too", tests: [`${SERVER}/access/rights.test.ts`, `${SERVER}/http/http-edge.test.ts`] },
  { threat: "A flood", holds: "Buckets per key and address, caps on streams and bodies, time limits on slow clients", tests: [`${SERVER}/http/http-edge.test.ts`, `${SERVER}/http/sockets.test.ts`, `${SERVER}/events/event-routes.test.ts`] },
  { threat: "Requests inwards (SSRF)", holds: "Public addresses only, checked on the address that is dialed; redirects are asked again and lose the caller's headers", tests: [`${EXECUTOR}/net/check-url.test.ts`, `${EXECUTOR}/net/rebinding.test.ts`, `${EXECUTOR}/net/http-call.test.ts`] },
  { threat: "Arguments that leave their slot in an API call", holds: "Server and credentials come from the definition; values are encoded; credentials go out with granted operations only", tests: [`${EXECUTOR}/openapi/operation-call.test.ts`, `${EXECUTOR}/openapi/credential-grants.test.ts`, "tests/tools/credential-operations.test.ts"] },
  { threat: "Answers that explode", holds: "Bytes are counted on the wire and unpacked; a ratio, a time and a size end it", tests: [`${EXECUTOR}/net/http-call.test.ts`] },
  { threat: "Secrets that come out again", holds: "A canary is looked for in every table, log, message, answer and stream of a process, in every usual written form", tests: ["tests/tools/secrets.test.ts", `${EXECUTOR}/openapi/credential-echo.test.ts`] },
  { threat: "Paths and links out of a workdir", holds: "Opened name by name from the directory, no link followed, checked again; swaps, hard links, FIFOs, twins", tests: [`${EXECUTOR}/builtins/file-system.test.ts`] },
  { threat: "A command of a model", holds: "bubblewrap or off; groups are killed, output is cut. The confined tests run where bubblewrap works", tests: [`${EXECUTOR}/builtins/bash.test.ts`] },
  { threat: "A command that takes the machine's memory or disk with many processes, or uses a descriptor that the host was handed", holds: "one bound for all its processes (control group, watched total); no descriptor but three; no user namespace", tests: [`${EXECUTOR}/shell/totals.test.ts`] },
  { threat: "A tool that loops, floods, exits or eats memory", holds: "`isolated` bounds it; it ends its own call only", tests: ["tests/tools/hostile.test.ts", "tests/tools/host-isolation.test.ts"] },
  { threat: "Schemas, patterns and documents that explode", holds: "Limits before parsing; patterns run in linear time or not at all", tests: ["tests/security/gates.test.ts", "packages/tool/src/arguments/pattern.test.ts", "packages/tool/src/resources/yaml-gate.test.ts"] },
  { threat: "Prototype pollution", holds: "`__proto__` is refused at every gate; after each a fresh object is what it was", tests: ["tests/security/gates.test.ts"] },
  { threat: "Everything else that a parser may be sent", holds: "Mutated traffic at every entry point: no crash, no hang, no row", tests: ["tests/fuzz/http.test.ts", "tests/fuzz/kernel.test.ts", "tests/fuzz/protocol.test.ts", "tests/fuzz/documents.test.ts"] },
];

export interface NotBuilt {
  readonly what: string;
  readonly why: string;
}

export const NOT_BUILT: readonly NotBuilt[] = [
  {
    what: "Approvals of single calls.",
    why: "No call waits for a person's consent, so there is none to be bound to a hash of its arguments. What a call was made with cannot change after it was committed: the card is written once, and its hash is checked.",
  },
  {
    what: "Taint of untrusted results.",
    why: "Cards carry no mark of trust, and no policy by tool and taint stands between a result and the next call. What holds: a result is data in the tool's role, `__cg_control` is removed from what comes from outside, a model is offered its profile's tools only, and outgoing requests and commands are bounded as above. A model that obeys a text in a result can call any tool it was given: give an agent that reads untrusted text no tool that must not be misused.",
  },
  {
    what: "Row-level security.",
    why: "Every function of `l0` and every read takes the project and compares it; the roles of the database separate parts of the system, not tenants. A login with table rights reads all projects.",
  },
  {
    what: "Signatures by key pairs on commands.",
    why: "A ticket is a keyed hash that only `l0` can make; an executor swaps it for its capability at the kernel and takes nothing else from the message.",
  },
  {
    what: "A hash of the body under the capability.",
    why: "Reports go over TLS, NATS or the database's own connection; the capability counts once, and the first accepted report wins.",
  },
  {
    what: "MCP servers and OAuth.",
    why: "There is no MCP client, so there is no server to be poisoned by and no token to pass on.",
  },
  {
    what: "A console in a browser.",
    why: "The API serves documents and problems, no page. Whatever the command prints, also into a pipe or a log, control characters and invisible ones in it are escaped.",
  },
  {
    what: "A sandbox for enemies in the same user.",
    why: "`isolated` is for accidents; untrusted code belongs in a process of its own user or machine, over the HTTP edge.",
  },
];
