// Every limit of the contract, as a named constant with its unit last.
//
//   L1. Nothing is unbounded: a loop, queue, batch, payload, retry or wait that crosses a package names its limit here.
//   L2. These are defaults of the wire contract. Configuration may tighten one, and loosen it only where the owner of
//       the loop says so. The numbers are pinned in `pins.test.ts`: changing one is a change of the contract.

const KIB = 1024;
const MIB = 1024 * KIB;

// ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────
/** Nested containers of an author's value: `[]` is 1 deep. */
export const JSON_DEPTH_MAX = 64;
/** What our own envelopes (card, content, result, event) may add around an author's value. */
export const ENVELOPE_DEPTH_EXTRA = 8;
/** Keys of all objects of one value together: size alone would let a megabyte of tiny keys through. */
export const JSON_KEYS_MAX = 65_536;

// ── Sizes ───────────────────────────────────────────────────────────────────────────────────────────────────────────
export const ARGUMENTS_BYTES_MAX = 256 * KIB;
/** Inline card content. Larger results are stored elsewhere and pointed to. */
export const CARD_CONTENT_BYTES_MAX = MIB;
/** Metadata of one card: ids and labels, never content. */
export const CARD_METADATA_BYTES_MAX = 64 * KIB;
/** A full card plus the envelope of a request around it. */
export const HTTP_BODY_BYTES_MAX = 1.25 * MIB;
export const HTTP_HEADERS_BYTES_MAX = 16 * KIB;
/** Data of one bus message. Messages carry pointers, so this only stops abuse; it is NATS's default `max_payload`. */
export const MESSAGE_BYTES_MAX = MIB;
export const TRACESTATE_CHARS_MAX = 512;
export const SUBJECT_CHARS_MAX = 512;
/** No family needs more than nine tokens; the room above that is for suffixes of later versions. */
export const SUBJECT_TOKENS_MAX = 11;
/** Longer default durable names are shortened by a hash. */
export const DURABLE_CHARS_MAX = 64;
export const DESCRIPTION_BYTES_MAX = 4 * KIB;
export const ERROR_MESSAGE_CHARS_MAX = 1_000;
/** Of one attempt, as it is kept for operators. */
export const STACK_CHARS_MAX = 8_192;
export const TOOL_SCHEMA_BYTES_MAX = 64 * KIB;
export const TOOL_SCHEMA_DEPTH_MAX = 32;

// ── YAML ────────────────────────────────────────────────────────────────────────────────────────────────────────────
/** One uploaded document, in which no alias is allowed. */
export const UPLOAD_YAML_BYTES_MAX = 256 * KIB;
export const UPLOAD_YAML_ALIASES_MAX = 0;
export const BUNDLE_FILE_BYTES_MAX = MIB;
export const BUNDLE_DOCUMENTS_MAX = 100;
export const BUNDLE_ALIASES_MAX = 100;
export const YAML_DEPTH_MAX = 64;

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────
export const ID_CHARS_MAX = 64;
/** Ids that appear in subjects, keys and paths. `isId` in ids.ts refuses a few further words. */
export const ID_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;
/** Who acts: an agent, or a service such as `tool.search` or `sys.pmo.batch_manager`. */
export const ACTOR_ID_PATTERN = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
export const ACTOR_ID_CHARS_MAX = 128;
export const INSTANCE_KEY_PATTERN = /^[A-Za-z0-9_:.@-]{1,128}$/;
export const TOOL_NAME_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;
export const CARD_TYPE_CHARS_MAX = 64;

// ── Leases, sweeps, wakeups ─────────────────────────────────────────────────────────────────────────────────────────
export const LEASE_MS = 15_000;
/** A third of the lease: two heartbeats may be lost before it lapses. */
export const HEARTBEAT_MS = 5_000;
export const SWEEP_INTERVAL_MS = 1_000;
/** An untaken row is announced again first after this, then at doubling intervals up to RING_MAX_MS. */
export const RING_FIRST_MS = 5_000;
export const RING_MAX_MS = 60_000;
export const LONG_POLL_MS_MAX = 30_000;

// ── Calls, steps, turns ─────────────────────────────────────────────────────────────────────────────────────────────
/** Of a tool that says nothing. Minutes: agents build, browse and wait, and a `once` tool that is cut off is an unknown outcome. */
export const TOOL_TIMEOUT_MS = 600_000;
/** Of a call that is no tool of a bundle's and says nothing, such as one of the PMO's: they only write rows. */
export const CALL_TIMEOUT_MS = 30_000;
/** A call's deadline is its tool's timeout plus two leases: one to notice a lost executor, one for the next attempt. */
export const CALL_DEADLINE_MARGIN_MS = 2 * LEASE_MS;
export const CALLS_PER_STEP_MAX = 64;
export const FAN_OUT_MAX = 50;
/** A depth of this value or more is refused. */
export const RECURSION_DEPTH_MAX = 20;
export const STEPS_PER_TURN_MAX = 32;
export const TURNS_PER_TRACE_MAX = 1_000;
/** Open inbox rows of one agent; one more is answered `backlog_full`. */
export const INBOX_PER_AGENT_MAX = 10_000;
export const ATTEMPTS_MAX_DEFAULT = 3;
/** Crashes of a turn in a row, without a commit between them, before it ends `failed/crash_loop`. */
export const CRASHES_MAX = 3;
/** Hangs of a process that a turn is blamed for, ever, before it ends `failed/process_hung`. */
export const HANGS_MAX = 2;
/** Deferrals of one inbox row before its turn ends `failed/resume_retry_exhausted`. */
export const DEFERRALS_MAX = 3;

// ── Kernel batches ──────────────────────────────────────────────────────────────────────────────────────────────────
export const BATCH_BYTES_MAX = 4 * MIB;
/** On the embedded store 64 concurrent calls move in step, and a batch of all costs a sixth less CPU per call than two of 32. */
export const BATCH_ITEMS_MAX = 64;
/** What a function of the kernel takes at most, from any caller; one item more is refused. */
export const FUNCTION_ITEMS_MAX = 4 * BATCH_ITEMS_MAX;
export const INBOX_ROWS_PER_CLAIM_MAX = 20;

// ── Batches of child turns (fork_join) ──────────────────────────────────────────────────────────────────────────────
export const FORK_JOIN_DEADLINE_MS = 900_000;
export const BATCH_DISPATCH_ATTEMPTS_MAX = 5;
export const BATCH_DISPATCH_DELAY_FIRST_MS = 2_000;
export const BATCH_DISPATCH_DELAY_MAX_MS = 30_000;

// ── Agent to agent ──────────────────────────────────────────────────────────────────────────────────────────────────
export const AGENT_REQUEST_TIMEOUT_MS = 60_000;
