// Values and texts that break readers.

import fc from "fast-check";

const LONG = "x".repeat(70_000);
export const LONE_SURROGATE = "\ud800";

const HOSTILE_TEXTS: readonly string[] = [
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
export const anyUnits = fc
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

export const ownKey = (key: string, value: unknown): object =>
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
