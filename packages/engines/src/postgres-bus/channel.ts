// Which NOTIFY channel a subject travels on, and which channels a pattern has to hear.
//
// PostgreSQL hands a backend every notification of the channels it listens to; what it does not listen to costs it no
// traffic and no parsing. One channel for all would make an agent worker read every tool command of the fleet. One
// channel per target would leave a pattern with a wildcard (`evt.agent.*.task`) nothing to listen to. So targets are
// spread over a few buckets: a literal target listens to one channel, a wildcard to all of them.
//
//   H1. A subject travels on exactly one channel, so no subscriber receives it twice.
//   H2. If a pattern matches a subject, the pattern's channels include the subject's.

import { SUBJECT_COMPONENTS } from "@tessera/protocol";
import type { PatternParts } from "../delivery/subject.ts";

const BUCKETS = 16;
/** A channel is a name of at most 63 bytes; ours adds up to 13. */
const PREFIX = /^[a-z][a-z0-9_]{0,39}$/;

export function assertChannelPrefix(prefix: string): void {
  if (!PREFIX.test(prefix)) {
    throw new RangeError(`the channel prefix ${JSON.stringify(prefix)} must match ${PREFIX.source}`);
  }
}

/** One channel for a subject (H1), several for a pattern with a wildcard in component or target. */
export function channelsOf(prefix: string, { category, component, target }: Omit<PatternParts, "version">): string[] {
  const components = component === null ? SUBJECT_COMPONENTS : [component];
  const buckets = target === null ? [...Array(BUCKETS).keys()] : [bucketOf(target)];
  return components.flatMap((each) => buckets.map((bucket) => `${prefix}_${category}_${each}_${bucket}`));
}

/** FNV-1a: short, and the same in every process. */
function bucketOf(target: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < target.length; index++) {
    hash = Math.imul(hash ^ target.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % BUCKETS;
}
