// Copies of good values, damaged.
//
//   M1. An example is damaged by a list of small edits. A failing input shrinks to the few edits that matter.
//   M2. An edit names its place by a number that is taken modulo the places there are, so every edit fits every example.
//   M3. What an edit plants is shared between inputs and is never edited itself.

import fc from "fast-check";
import { HOSTILE_KEYS, hostileJson, hostileText, ownKey } from "./hostile-values.ts";

interface ValueEdit {
  readonly kind: "replace" | "delete" | "copy" | "swap" | "wrap" | "add" | "repeat";
  readonly at: number;
  readonly other: number;
  readonly key: string;
  readonly value: unknown;
}

type Container = Record<string, unknown>;

/** Copies of a JSON example, each damaged by one to `editsMax` edits (M1). */
export function damagedValue<T>(
  example: T,
  options: { readonly values?: fc.Arbitrary<unknown>; readonly editsMax?: number } = {},
): fc.Arbitrary<unknown> {
  const edit: fc.Arbitrary<ValueEdit> = fc.record({
    kind: fc.constantFrom("replace", "replace", "replace", "delete", "copy", "swap", "wrap", "add", "repeat"),
    at: fc.nat(10_000),
    other: fc.nat(10_000),
    key: fc.oneof(fc.constantFrom(...HOSTILE_KEYS), fc.string({ maxLength: 8 })),
    value: options.values ?? hostileJson,
  });
  return fc.array(edit, { minLength: 1, maxLength: options.editsMax ?? 3 }).map((edits) => {
    const planted = new WeakSet<object>();
    return edits.reduce((root, each) => editValue(root, each, planted), structuredClone(example) as unknown);
  });
}

function editValue(root: unknown, { kind, at, other, key, value }: ValueEdit, planted: WeakSet<object>): unknown {
  const holder: Container = { root };
  const places = placesOf(holder, planted);
  const [parent, name] = places[at % places.length] as Place;
  const [otherParent, otherName] = places[other % places.length] as Place;
  const here = parent[name];
  const there = otherParent[otherName];
  if (isObject(value)) planted.add(value);
  if (kind === "replace") setOwn(parent, name, value);
  else if (kind === "delete") removeOwn(parent, name);
  else if (kind === "copy") setOwn(parent, name, isObject(there) ? null : there);
  else if (kind === "swap" && parent === otherParent) [parent[name], parent[otherName]] = [there, here];
  else if (kind === "wrap") setOwn(parent, name, other % 2 === 0 ? [here] : ownKey(key, here));
  else if (kind === "add" && isObject(here) && !planted.has(here)) addTo(here as Container, key, value);
  else if (kind === "repeat" && Array.isArray(here) && !planted.has(here)) here.push(...here.slice(0, 100));
  return holder.root;
}

type Place = readonly [Container, string];

/** Never inside a planted value (M3). */
function placesOf(holder: Container, planted: WeakSet<object>): readonly Place[] {
  const places: Place[] = [];
  const open: Container[] = [holder];
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    for (const name of Object.keys(parent)) {
      const child = parent[name];
      places.push([parent, name]);
      if (isObject(child) && !planted.has(child)) open.push(child as Container);
    }
  }
  return places;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function setOwn(parent: Container, name: string, value: unknown): void {
  Reflect.defineProperty(parent, name, { value, enumerable: true, writable: true, configurable: true });
}

function addTo(container: Container, key: string, value: unknown): void {
  if (Array.isArray(container)) container.push(value);
  else setOwn(container, key, value);
}

function removeOwn(parent: Container, name: string): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 1);
  else Reflect.deleteProperty(parent, name);
}

/** JSON text of a damaged example; what JSON cannot write is the text `null`. */
export function damagedJsonText(example: unknown): fc.Arbitrary<string> {
  return damagedValue(example).map((value) => JSON.stringify(value) ?? "null");
}

/** Fields whose value is any JSON; every other leaf keeps its type. */
const FOREIGN = new Set([
  "arguments",
  "content",
  "metadata",
  "runtime_config",
  "result",
  "detail",
  "parameters",
  "options",
]);
const hostileNumber = fc.constantFrom(0, -1, 1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e21, 1e308, 5e-324, Number.NaN);

/** Copies of a typed request with hostile values where its types allow them, as a program could send it. */
export function damagedLeaves<T>(example: T): fc.Arbitrary<T> {
  const edit = fc.record({ at: fc.nat(10_000), text: hostileText, number: hostileNumber, json: hostileJson });
  return fc.array(edit, { minLength: 1, maxLength: 3 }).map((edits) => {
    const root = structuredClone(example);
    const places = leavesOf(root as Container);
    for (const { at, text, number, json } of edits) {
      const [parent, name] = places[at % places.length] as Place;
      const here = parent[name];
      if (FOREIGN.has(name)) setOwn(parent, name, json);
      else if (typeof here === "string") setOwn(parent, name, text);
      else if (typeof here === "number") setOwn(parent, name, number);
      else if (typeof here === "boolean") setOwn(parent, name, !here);
    }
    return root;
  });
}

function leavesOf(root: Container): readonly Place[] {
  return placesOf(root, new WeakSet()).filter(([parent, name]) => FOREIGN.has(name) || !isObject(parent[name]));
}
