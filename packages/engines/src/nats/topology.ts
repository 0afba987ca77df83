// Streams and durables: what must exist on the broker, made again whenever it is gone.
//
//   T1. Idempotent and safe from many processes at once: losing a race to create something is success.
//   T2. What exists is left as it is, so an operator may tune it; only a durable's filter and its store (durable-owner.ts)
//       follow the code.
//   T3. A role that may not create or look up things is assumed to find them in place.
//   T4. A durable that lived before continues behind the last message this member saw. Without that, a deleted durable
//       would repeat every command of the last 24 hours.
//   T5. A stream that vanished is made again only after a while: nats-server 2.9.10 forgets a stream before it removes
//       its files, and one made in between loses them and stores nothing from then on (40 of 100 on a busy machine; after
//       50 ms one create failed, and none was silent).

import { createHash } from "node:crypto";
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
} from "@nats-io/jetstream";
import { nanos, PermissionViolationError } from "@nats-io/transport-node";
import { BusError } from "@tessera/kernel/ports";
import { DURABLE_CHARS_MAX, type StreamSpec, safeLabel, streamsOf } from "@tessera/protocol";
import { pause } from "../delivery/backoff.ts";
import { ACK_WAIT_MS, DELIVER_MAX } from "../delivery/dispatcher.ts";
import type { PatternParts } from "../delivery/subject.ts";
import type { DurableOwner } from "./durable-owner.ts";

/** The oldest go first; the database still knows what they rang for. */
const STREAM_MESSAGES_MAX = 10_000_000;
/** Unanswered deliveries over all members of a durable. Each member bounds its own by what it pulls, so this only has to
 *  be more than all of them together: the smaller of both would let one slow member stop the others. */
const ACK_PENDING = { min: 1_000, membersAssumed: 64 };
/** A durable of a name of its own is litter sooner: the next process of its store may find the published name free. */
const OWN_NAME_INACTIVE_MS = 600_000;
const HASH_CHARS = 24;
/** Twenty times what was seen to be needed: a large stream takes longer to remove (T5). */
const DELETION_MS = 1_000;
/** "The consumer's name or configuration is already in use": another member was faster (T1). */
const CONSUMER_EXISTS_CODES: readonly number[] = [10_012, 10_013, 10_105, 10_148];
const STREAM_EXISTS_CODE = 10_058;

export interface DurableSpec {
  readonly stream: StreamSpec;
  readonly owner: DurableOwner;
  readonly pattern: string;
  readonly inFlightMax: number;
  /** Where a durable that has to be made again goes on (T4); 1 is the beginning. */
  readonly startSequence: number;
}

export function streamOf({ version, category }: Pick<PatternParts, "version" | "category">): StreamSpec {
  const stream = streamsOf(version).find(({ filter }) => filter.endsWith(`.${category}.>`));
  if (stream === undefined) throw new BusError("refused", `${category} subjects have no stream`);
  return stream;
}

/** JetStream takes no dots, wildcards, slashes or white space in names. A name that had to be changed gets a part of its
 *  hash, so that `a.b` and `a_b` stay two durables; so much of it that no two names can be found that meet. */
export function durableName(name: string): string {
  const legal = safeLabel(name).slice(0, DURABLE_CHARS_MAX);
  if (legal === name && name !== "") return name;
  return `${legal}_${createHash("sha256").update(name).digest("hex").slice(0, HASH_CHARS)}`;
}

export interface StreamWish {
  readonly stream: StreamSpec;
  readonly replicas: number;
  /** Whether this process has seen the stream before, so that it must have been deleted (T5). */
  readonly wasThere: boolean;
  /** Ends the wait of T5 early. */
  readonly signal: AbortSignal;
}

/** Returns when the stream was made, which tells a new one of the same name apart; null when we may not know. */
export async function ensureStream(jsm: JetStreamManager, wish: StreamWish): Promise<string | null> {
  try {
    return (await jsm.streams.info(wish.stream.name)).created;
  } catch (error) {
    if (isForbidden(error)) return null; // T3
    if (!hasCode(error, [JetStreamApiCodes.StreamNotFound])) throw error;
    if (wish.wasThere) await pause(DELETION_MS, wish.signal); // T5
    return addStream(jsm, wish.stream, wish.replicas);
  }
}

async function addStream(jsm: JetStreamManager, stream: StreamSpec, replicas: number): Promise<string | null> {
  try {
    const { created } = await jsm.streams.add({
      name: stream.name,
      subjects: [stream.filter],
      // Several durables may want one message, so each keeps its own place and age alone removes messages.
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_age: nanos(stream.max_age_ms),
      max_msgs: STREAM_MESSAGES_MAX,
      num_replicas: replicas,
    });
    return created;
  } catch (error) {
    if (!isForbidden(error) && !hasCode(error, [STREAM_EXISTS_CODE])) throw error; // T1, T3
    return null;
  }
}

/** Looks whose the durable is (durable-owner.ts), and makes sure of the one that its owner names then. */
export async function ensureDurable(jsm: JetStreamManager, spec: DurableSpec): Promise<"kept" | "made" | "refiltered"> {
  const { owner } = spec;
  try {
    const published = await infoOf(jsm, spec, owner.publishedName);
    owner.look(published, performance.now());
    const found = owner.name === owner.publishedName ? published : await infoOf(jsm, spec, owner.name);
    return found === null ? await addDurable(jsm, spec) : await updateDurable(jsm, spec, found);
  } catch (error) {
    if (isForbidden(error)) return "kept"; // T3
    throw error;
  }
}

/** Whether the owner of the durable is another one than at the last look, or it is gone. Changes nothing on the broker. */
export async function hasChangedHands(
  jsm: JetStreamManager,
  spec: Omit<DurableSpec, "startSequence">,
): Promise<boolean> {
  const { owner } = spec;
  const before = owner.name;
  try {
    owner.look(await infoOf(jsm, spec, owner.publishedName), performance.now());
  } catch (error) {
    if (!isForbidden(error)) throw error; // T3
  }
  return owner.name !== before;
}

async function infoOf(
  jsm: JetStreamManager,
  { stream }: Pick<DurableSpec, "stream">,
  name: string,
): Promise<ConsumerInfo | null> {
  try {
    return await jsm.consumers.info(stream.name, name);
  } catch (error) {
    if (hasCode(error, [JetStreamApiCodes.ConsumerNotFound])) return null;
    throw error;
  }
}

async function updateDurable(jsm: JetStreamManager, spec: DurableSpec, { config }: ConsumerInfo) {
  const description = spec.owner.described(config.description);
  const isRefiltered = config.filter_subject !== spec.pattern;
  if (!isRefiltered && config.description === description) return "kept";
  const described = description === undefined ? {} : { description };
  await jsm.consumers.update(spec.stream.name, spec.owner.name, { filter_subject: spec.pattern, ...described });
  return isRefiltered ? "refiltered" : "kept";
}

async function addDurable(jsm: JetStreamManager, spec: DurableSpec): Promise<"kept" | "made"> {
  try {
    await jsm.consumers.add(spec.stream.name, durableConfig(spec));
    return "made";
  } catch (error) {
    if (hasCode(error, CONSUMER_EXISTS_CODES)) return "kept"; // T1
    throw error;
  }
}

function durableConfig(spec: DurableSpec): Partial<ConsumerConfig> {
  const { owner } = spec;
  const description = owner.described(undefined);
  const isPublished = owner.name === owner.publishedName;
  return {
    durable_name: owner.name,
    ...(description === undefined ? {} : { description }),
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    max_deliver: DELIVER_MAX,
    filter_subject: spec.pattern,
    max_ack_pending: Math.max(ACK_PENDING.min, spec.inFlightMax * ACK_PENDING.membersAssumed),
    // Once the stream has forgotten everything the durable waited for, the durable itself is litter.
    inactive_threshold: nanos(isPublished ? spec.stream.max_age_ms : OWN_NAME_INACTIVE_MS),
    ...(spec.startSequence > 1
      ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: spec.startSequence } // T4
      : { deliver_policy: DeliverPolicy.All }),
  };
}

function hasCode(error: unknown, codes: readonly number[]): boolean {
  return error instanceof JetStreamApiError && codes.includes(error.code);
}

function isForbidden(error: unknown): boolean {
  if (error instanceof PermissionViolationError) return true;
  return error instanceof Error && error.cause instanceof PermissionViolationError;
}
