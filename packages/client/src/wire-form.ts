// Between the spelling of TypeScript and that of the wire: `agentTurnId` here, `agent_turn_id` there.
//
//   F1. Only fields that the OpenAPI document names are spelled differently. What it leaves open (arguments and results of
//       tools, content of cards, metadata, payloads) is handed on as it is, and so is a field that this version does not know.
//   F2. Both ways lose nothing: what came from the wire and goes back is the same document.
//   F3. A field has one spelling in TypeScript. The wire's own, where a program sends it, is refused and not guessed at.

import { mistake } from "./base-url.ts";

/** Where a value holds fields that are spelled differently; a name stands for a schema of the document. */
export type WireShape =
  | string
  | readonly [WireShape]
  | {
      /** The fields that are spelled differently, as the wire has them. */
      readonly fields?: readonly string[];
      /** What lies in the fields, by their names on the wire. */
      readonly within?: Readonly<Record<string, WireShape>>;
      /** What lies under keys that the document does not name. */
      readonly values?: WireShape;
    };
/** The shapes of documents by their names. */
export type WireShapes = Readonly<Record<string, WireShape>>;

/** `agent_turn_id` → `agentTurnId`. Names with other letters are the same in both. */
export function camelCase(name: string): string {
  if (!/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/.test(name)) return name;
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** A value of the wire as TypeScript spells it. */
export function fromWire(value: unknown, shape: WireShape | undefined, shapes: WireShapes): unknown {
  return respell(value, shape, shapes, (name) => [name, camelCase(name)]);
}

/** A value of a program as the wire spells it. `at` says what it is, for the message about a wrong spelling (F3). */
export function toWire(value: unknown, shape: WireShape | undefined, shapes: WireShapes, at: string): unknown {
  const refuse = (name: string): never => {
    throw mistake(`${at} has ${name}, which is written ${camelCase(name)} here`);
  };
  return respell(value, shape, shapes, (name) => [camelCase(name), name], refuse);
}

function respell(
  value: unknown,
  shape: WireShape | undefined,
  shapes: WireShapes,
  pair: (wireName: string) => readonly [given: string, wanted: string],
  refuse: (wireName: string) => void = () => undefined,
): unknown {
  if (shape === undefined || typeof value !== "object" || value === null) return value;
  if (typeof shape === "string") return respell(value, shapes[shape], shapes, pair, refuse);
  if (isList(shape)) {
    return Array.isArray(value) ? value.map((item) => respell(item, shape[0], shapes, pair, refuse)) : value;
  }
  if (Array.isArray(value)) return value;
  const { fields = [], within = {}, values } = shape;
  const wanted = new Map(fields.map(pair));
  const inner = new Map(Object.entries(within).map(([name, each]) => [pair(name)[0], each]));
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    if (fields.includes(key) && !wanted.has(key)) refuse(key);
    return [wanted.get(key) ?? key, respell(member, inner.get(key) ?? values, shapes, pair, refuse)];
  });
  return Object.fromEntries(entries); // defines each key, also `__proto__`
}

function isList(shape: WireShape): shape is readonly [WireShape] {
  return Array.isArray(shape);
}
