// The JSON gate: what every value from outside passes before anything else looks at it (docs/design.md#one-json-gate).
//
//   G1. Size before parsing, depth while reading, never by recursion: hostile text costs an error, nothing more.
//   G2. What comes out survives JSON unchanged: no NUL, no lone surrogate, no number beyond 2^53 - 1 or not finite,
//       no `__proto__`, no duplicate key; -0 is 0. PostgreSQL's jsonb refuses the first two, so a value that slipped
//       through would fail at every retry for ever.
//   G3. What comes out is new: plain arrays and null-prototype objects that share nothing with what went in.
//   G4. A refusal is a TesseraError with `details.pointer` and `details.kind`; repeating the same value cannot help.
//   G5. Passing the gate twice changes nothing.

import { BadRequest, TesseraError } from "../errors/errors.ts";
import { CARD_CONTENT_BYTES_MAX, JSON_DEPTH_MAX, JSON_KEYS_MAX, MESSAGE_BYTES_MAX } from "../limits.ts";
import { jsonRefusal } from "./json-refusal.ts";
import { readJsonText } from "./json-text.ts";
import { emptyJsonObject, type JsonObject, type JsonScalar, type JsonValue } from "./json-value.ts";

export interface JsonGateOptions {
  /** Bytes of the value as compact JSON in UTF-8 (for text: of the text as it came). */
  readonly bytesMax: number;
  readonly depthMax?: number | undefined;
  readonly keysMax?: number;
}

/** Reads JSON text, or its UTF-8 bytes. */
export function parseJson(input: string | Uint8Array, options: JsonGateOptions): JsonValue {
  const limits = { depthMax: options.depthMax ?? JSON_DEPTH_MAX, keysMax: options.keysMax ?? JSON_KEYS_MAX };
  if (typeof input !== "string") {
    if (input.byteLength > options.bytesMax) throw tooLarge(options.bytesMax);
    return readJsonText(decodeUtf8(input), limits);
  }
  // A UTF-16 unit takes one to three bytes, so the exact count is needed only between the two.
  if (input.length > options.bytesMax) throw tooLarge(options.bytesMax);
  if (input.length * 3 > options.bytesMax && Buffer.byteLength(input) > options.bytesMax)
    throw tooLarge(options.bytesMax);
  return readJsonText(input, limits);
}

/** Reads the data of a bus message: exactly one JSON object in UTF-8. */
export function decodeJsonMessage(
  data: Uint8Array,
  options: JsonGateOptions = { bytesMax: MESSAGE_BYTES_MAX },
): JsonObject {
  const value = parseJson(data, options);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new BadRequest("the top level of a message must be an object", { code: "invalid_payload" });
  }
  return value;
}

/** Checks and copies a value that a program made, such as a tool's result. */
export function gateJson(value: Readonly<Record<string, unknown>>, options?: JsonGateOptions): JsonObject;
export function gateJson(value: unknown, options?: JsonGateOptions): JsonValue;
export function gateJson(value: unknown, options: JsonGateOptions = { bytesMax: CARD_CONTENT_BYTES_MAX }): JsonValue {
  const walk = new JsonWalk(options.bytesMax, options.depthMax ?? JSON_DEPTH_MAX, options.keysMax ?? JSON_KEYS_MAX);
  try {
    return walk.copy(value);
  } catch (error) {
    if (TesseraError.is(error)) throw error;
    // A getter or a proxy of the value threw: its author's fault, not ours.
    throw jsonRefusal("unreadable", "a property of the value cannot be read", walk.path(), { cause: error });
  }
}

interface Frame {
  readonly source: Readonly<Record<string, unknown>> | readonly unknown[];
  /** Null for an array. */
  readonly keys: readonly string[] | null;
  readonly target: JsonObject | JsonValue[];
  next: number;
}

class JsonWalk {
  readonly #bytesMax: number;
  readonly #depthMax: number;
  readonly #keysMax: number;
  readonly #frames: Frame[] = [];
  // The exact size is known only after writing the JSON. Bounds from lengths decide almost always: above the lower one
  // the walk stops at once (shared references could otherwise grow without end), below the upper one nothing is written.
  #bytesAtLeast = 0;
  #bytesAtMost = 0;
  #keys = 0;
  /** The store writes numbers without an exponent: 1.5e-290 is 292 characters there, and its limit counts them. */
  #zeros = 0;

  constructor(bytesMax: number, depthMax: number, keysMax: number) {
    this.#bytesMax = bytesMax;
    this.#depthMax = depthMax;
    this.#keysMax = keysMax;
  }

  copy(value: unknown): JsonValue {
    const root = this.#scalarOrEnter(value);
    for (let frame = this.#frames.at(-1); frame !== undefined; frame = this.#frames.at(-1)) {
      if (frame.keys === null) this.#copyElements(frame);
      else this.#copyMembers(frame, frame.keys);
    }
    if (this.#bytesAtMost > this.#bytesMax) {
      const bytes = Buffer.byteLength(JSON.stringify(root)) + this.#zeros;
      if (bytes > this.#bytesMax) throw tooLarge(this.#bytesMax);
    }
    return root;
  }

  path(): (string | number)[] {
    return this.#frames.map(({ keys, next }) => (keys === null ? next - 1 : (keys[next - 1] ?? "")));
  }

  /** Copies elements until one opens a container, whose turn it is then, or until the array ends. */
  #copyElements(frame: Frame): void {
    const source = frame.source as readonly unknown[];
    const target = frame.target as JsonValue[];
    const depth = this.#frames.length;
    while (frame.next < source.length) {
      target.push(this.#scalarOrEnter(source[frame.next++]));
      if (this.#frames.length !== depth) return;
    }
    this.#frames.pop();
  }

  #copyMembers(frame: Frame, keys: readonly string[]): void {
    const source = frame.source as Readonly<Record<string, unknown>>;
    const target = frame.target as JsonObject;
    const depth = this.#frames.length;
    while (frame.next < keys.length) {
      const key = keys[frame.next++] as string;
      const value = source[key];
      if (value === undefined) continue; // as JSON does: an optional field that is not set
      if (key === "__proto__") throw jsonRefusal("forbidden_key", "the key __proto__ is not allowed", this.path());
      this.#checkString(key);
      this.#count(1, 1);
      target[key] = this.#scalarOrEnter(value);
      if (this.#frames.length !== depth) return;
    }
    this.#frames.pop();
  }

  #scalarOrEnter(value: unknown): JsonValue {
    switch (typeof value) {
      case "string":
        this.#checkString(value);
        return value;
      case "number":
        return this.#number(value);
      case "boolean":
        this.#count(4, 6);
        return value;
      case "object":
        if (value !== null) return this.#enter(value);
        this.#count(4, 5);
        return null;
      default:
        throw jsonRefusal("not_a_json_value", `a value of type ${typeof value} is not JSON`, this.path(), {
          type: typeof value,
        });
    }
  }

  #number(value: number): JsonScalar {
    if (!(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      throw jsonRefusal("number", "a number does not survive JSON; send it as a string", this.path(), {
        type: "number",
      });
    }
    const zeros = leadingZeros(value);
    this.#zeros += zeros;
    this.#count(1 + zeros, 26 + zeros);
    return value === 0 ? 0 : value; // -0 becomes 0
  }

  #checkString(value: string): void {
    this.#count(value.length + 2, value.length * 6 + 3);
    if (!value.isWellFormed()) {
      throw jsonRefusal("lone_surrogate", "a string holds half of a surrogate pair", this.path(), { type: "string" });
    }
    if (value.includes("\0")) {
      throw jsonRefusal("nul", "a string holds the character NUL", this.path(), { type: "string" });
    }
  }

  #enter(value: object): JsonObject | JsonValue[] {
    if (this.#frames.length >= this.#depthMax) throw this.#deepOrCyclic(value);
    if (Array.isArray(value)) {
      this.#count(value.length + 2, value.length + 3);
      const target: JsonValue[] = [];
      this.#frames.push({ source: value, keys: null, target, next: 0 });
      return target;
    }
    if (!isPlain(value)) {
      const type = nameOf(value);
      throw jsonRefusal("not_a_plain_object", `a ${type} is not a plain object`, this.path(), { type });
    }
    const keys = Object.keys(value);
    this.#keys += keys.length;
    if (this.#keys > this.#keysMax) {
      throw jsonRefusal("too_many_keys", `the value has more than ${this.#keysMax} keys`, this.path());
    }
    this.#count(2, 3);
    const target = emptyJsonObject();
    this.#frames.push({ source: value as Record<string, unknown>, keys, target, next: 0 });
    return target;
  }

  /** A cycle always runs into the depth limit, so ancestors are compared only there and cost nothing before. */
  #deepOrCyclic(value: object): TesseraError {
    const chain = [...this.#frames.map((frame) => frame.source as object), value];
    const isCyclic = new Set(chain).size < chain.length;
    return isCyclic
      ? jsonRefusal("cycle", "the value contains itself", this.path(), { type: "cycle" })
      : jsonRefusal("too_deep", `the value is nested deeper than ${this.#depthMax}`, this.path());
  }

  #count(atLeast: number, atMost: number): void {
    this.#bytesAtLeast += atLeast;
    this.#bytesAtMost += atMost;
    if (this.#bytesAtLeast > this.#bytesMax) throw tooLarge(this.#bytesMax);
  }
}

/** Object literals, null-prototype objects and the same from another realm; not Date, Map or a class's instance. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" ? name.slice(0, 64) : "object";
}

/** Refuses what is not UTF-8, and a byte order mark of any kind: its sender disagrees about the encoding. */
function decodeUtf8(bytes: Uint8Array): string {
  // The second byte of UTF-16 without a mark is NUL for every JSON text, and so is the first in the other byte order.
  if (bytes.length > 1 && (bytes[0] === 0 || bytes[1] === 0)) throw invalidEncoding();
  try {
    const text = UTF8.decode(bytes);
    if (text.charCodeAt(0) === 0xfeff) throw invalidEncoding();
    return text;
  } catch (cause) {
    throw TesseraError.is(cause) ? cause : invalidEncoding(cause);
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function invalidEncoding(cause?: unknown): TesseraError {
  return new BadRequest("the bytes are not UTF-8 without a byte order mark", { code: "invalid_encoding", cause });
}

/** How many zeros plain notation adds to what JSON writes with a negative exponent. */
function leadingZeros(value: number): number {
  const size = Math.abs(value);
  return size === 0 || size >= 1e-6 ? 0 : Math.ceil(-Math.log10(size));
}

function tooLarge(bytesMax: number): TesseraError {
  return jsonRefusal("too_large", `the JSON value is larger than ${bytesMax} bytes`, [], { bytes_max: bytesMax });
}
