// The keys of JSON in the order in which the store gives them back: shorter ones first, then by their bytes.
//
// A worker has its own cards before it reads them. Were a model shown keys in the order in which they were written, the same
// cards would be another text in the next turn, or after a crash, and what a provider keeps of the last request would be of no use.

import { isJsonObject } from "@tessera/protocol";

/** Of a value that is JSON. */
export function inStoredOrder<T>(value: T): T;
export function inStoredOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => inStoredOrder(item));
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => [Buffer.from(key), key, inStoredOrder(item)] as const);
  entries.sort(([a], [b]) => a.length - b.length || Buffer.compare(a, b));
  return Object.fromEntries(entries.map(([, key, item]) => [key, item]));
}
