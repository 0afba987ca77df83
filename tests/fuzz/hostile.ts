// Hostile input: values and texts that break readers, and ways to damage a good example.
//
//   M1. An example is damaged by a list of small edits. A failing input shrinks to the few edits that matter.
//   M2. An edit names its place by a number that is taken modulo the places there are, so every edit fits every example.
//   M3. What an edit plants is shared between inputs and is never edited itself.

import fc from "fast-check";

const LONG = "x".repeat(70_000);
const LONE_SURROGATE = "\ud800";

export const HOSTILE_TEXTS: readonly string[] = [
  "",
  " ",
  "\0",
  "\n",
  "a\r\nb: c",
  LONE_SURROGATE,
  "\udc00x",
  "\ufeff",
  "\u202e",
  "𝒳é",
  "__proto__",
  "constructor",
  "toString",
  "null",
  "NaN",
  "-0",
  "1e999",
  "9007199254740993",
  "1.5",
  "../../x",
  "a/b",
  "a.b",
  "*",
  ">",
  "{project_id}",
  "{{}}",
  "%00",
  "'; drop table x; --",
  "$1",
  "\\",
  '"',
  "x".repeat(65),
  "x".repeat(129),
  "x".repeat(2_000),
  LONG,
];

export const HOSTILE_KEYS: readonly string[] = [
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "valueOf",
  "toJSON",
  "then",
  "hasOwnProperty",
  "length",
  "",
  "\0",
  "a/b~c",
  LONE_SURROGATE,
  "agent_id",
  "turn_epoch",
  "result",
  "__cg_control",
];

/** Any sequence of UTF-16 units, halves of pairs and control characters included. */
const anyUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...HOSTILE_TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 60 }) },
  { weight: 2, arbitrary: fc.string({ maxLength: 60 }) },
  { weight: 1, arbitrary: anyUnits },
);

const nested = (levels: number, isObject: boolean): unknown => {
  let value: unknown = isObject ? {} : [];
  for (let level = 1; level < levels; level += 1) value = isObject ? { a: value } : [value];
  return value;
};

const ownKey = (key: string, value: unknown): object =>
  Object.defineProperty({}, key, { value, enumerable: true, writable: true, configurable: true });

/** What JSON.parse can make. */
export const hostileJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileText },
  {
    weight: 4,
    arbitrary: fc.constantFrom<unknown>(
      ...[null, true, false, 0, -1, 1, 1.5, -0, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 53, 2 ** 63, 1e21],
      ...[[], {}, [null], [[]], { a: 1 }],
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(2, 33, 63, 64, 65, 73, 500, 3_000), fc.boolean())
      .map(([levels, isObject]) => nested(levels, isObject)),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...HOSTILE_KEYS), fc.jsonValue()).map(([k, v]) => ownKey(k, v)) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 1, arbitrary: fc.constant({ toString: 1, valueOf: null, toJSON: "x", length: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 100, max: 3_000 }).map((n) => Array.from({ length: n }, () => 0)) },
  { weight: 1, arbitrary: fc.constant(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, n]))) },
);

/** What a program can hand over besides: nothing of it may run away or throw through a gate. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: hostileJson },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 16 }).map(exoticValue) },
  { weight: 1, arbitrary: fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }) },
);

function exoticValue(which: number): unknown {
  const cycle: Record<string, unknown> = {};
  cycle.self = { inner: [cycle] };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const throwing = new Proxy(
    {},
    {
      get: () => {
        throw new Error("trap");
      },
      ownKeys: () => ["a"],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
    },
  );
  const values: readonly unknown[] = [
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    10n,
    Symbol("s"),
    () => 1,
    new Date(Number.NaN),
    new Map([[1, 2]]),
    new Error("e", { cause: cycle }),
    new Uint8Array(4),
    cycle,
    [revoked.proxy],
    { inner: throwing },
    { get a(): never { throw new RangeError("getter"); } }, // biome-ignore format: one row
    { toJSON: () => cycle },
    Object.assign(Object.create({ inherited: 1 }), { own: 1 }),
    new Array(1_000),
  ];
  return values[which % values.length];
}

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

const FRAGMENTS: readonly string[] = [
  ...[
    "\t",
    "\n",
    "\r\n",
    "  ",
    "- ",
    "? ",
    ": ",
    ":",
    ".",
    ",",
    "[",
    "]",
    "{",
    "}",
    "&a ",
    "*a",
    "!t ",
    "!!js/function ",
    "<<: ",
  ],
  ...[
    "|",
    ">",
    "'",
    '"',
    "---\n",
    "...\n",
    "%",
    "#",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\u005f_proto__",
    "__proto__",
    "null",
    "true",
  ],
  ...[
    "-1",
    "1e999",
    ".inf",
    "0x10",
    "\0",
    "\ufeff",
    "\u202e",
    LONE_SURROGATE,
    "é",
    "𝒳",
    "/",
    "~1",
    "=",
    "&",
    "?",
    "%2e%2e",
    "%00",
  ],
];

/** Copies of a text, each damaged by one to five edits (M1). */
export function damagedText(example: string, fragments: readonly string[] = FRAGMENTS): fc.Arbitrary<string> {
  const edit = fc.record({
    kind: fc.constantFrom("insert", "insert", "cut", "double", "end"),
    at: fc.nat(100_000),
    length: fc.nat(24),
    fragment: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...fragments) }, { weight: 1, arbitrary: anyUnits }),
    times: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
      { weight: 1, arbitrary: fc.constant(900) },
    ),
  });
  return fc.array(edit, { minLength: 1, maxLength: 5 }).map((edits) =>
    edits.reduce((text, { kind, at: place, length, fragment, times }) => {
      const at = text.length === 0 ? 0 : place % text.length;
      if (kind === "insert") return text.slice(0, at) + fragment.repeat(times) + text.slice(at);
      if (kind === "cut") return text.slice(0, at) + text.slice(at + length);
      if (kind === "double") return text.slice(0, at + length) + text.slice(at);
      return text.slice(0, at);
    }, example),
  );
}

/** Bytes of a damaged text, or with bytes put in that no text has. */
export function damagedBytes(example: string): fc.Arbitrary<Uint8Array> {
  const spoiled = fc
    .array(fc.tuple(fc.nat(100_000), fc.uint8Array({ minLength: 1, maxLength: 4 })), { minLength: 1, maxLength: 3 })
    .map((cuts) =>
      cuts.reduce((bytes, [place, put]) => {
        const at = place % (bytes.length + 1);
        return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + put.length)]);
      }, Buffer.from(example)),
    );
  return fc.oneof(
    damagedText(example).map((text) => Buffer.from(text)),
    spoiled,
    fc.uint8Array({ maxLength: 200 }),
  );
}

/** JSON text of a damaged example; what JSON cannot write is the text `null`. */
export function damagedJsonText(example: unknown): fc.Arbitrary<string> {
  return damagedValue(example).map((value) => JSON.stringify(value) ?? "null");
}

/** Fields whose value is anybody's JSON; every other leaf keeps its type. */
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
