// A JSON reader for untrusted text.
//
// `JSON.parse` keeps the last of two equal keys, rounds 2^53 + 1, turns 1e400 into Infinity and lets `__proto__` through,
// and none of that can be seen afterwards. So the text is read once, here, by a loop with its own stack.
//
//   T1. Accepts exactly what `JSON.parse` accepts, minus what the gate refuses (json-gate.ts). A property test compares.
//   T2. No recursion: the deepest text costs an error, never a stack overflow.
//   T3. Objects have no prototype.

import { type JsonRefusalKind, jsonRefusal } from "./json-refusal.ts";
import { emptyJsonObject, type JsonObject, type JsonValue } from "./json-value.ts";

export interface JsonTextLimits {
  readonly depthMax: number;
  readonly keysMax: number;
}

export function readJsonText(text: string, limits: JsonTextLimits): JsonValue {
  return new JsonTextReader(text, limits).read();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BRACKET_OPEN = 0x5b;
const BACKSLASH = 0x5c;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;

class JsonTextReader {
  readonly #text: string;
  readonly #limits: JsonTextLimits;
  #at = 0;
  #keysRead = 0;
  /** Open containers, outermost first; `#keys` holds the current key of each (unused for arrays). */
  readonly #open: (JsonObject | JsonValue[])[] = [];
  readonly #keys: string[] = [];

  constructor(text: string, limits: JsonTextLimits) {
    this.#text = text;
    this.#limits = limits;
  }

  read(): JsonValue {
    for (;;) {
      const value = this.#openOrReadScalar();
      if (value === undefined) continue; // a container with members was opened: read its first value
      const root = this.#store(value);
      if (root === undefined) continue; // a comma followed: read the next value
      this.#skipSpace();
      if (this.#at < this.#text.length) throw this.#notJson();
      return root;
    }
  }

  /** Reads one scalar or empty container; opens a container with members and answers undefined. */
  #openOrReadScalar(): JsonValue | undefined {
    this.#skipSpace();
    const code = this.#text.charCodeAt(this.#at);
    if (code === QUOTE) return this.#readString();
    if (code === BRACE_OPEN) return this.#openObject();
    if (code === BRACKET_OPEN) return this.#openArray();
    if (code === 0x74) return this.#readWord("true", true);
    if (code === 0x66) return this.#readWord("false", false);
    if (code === 0x6e) return this.#readWord("null", null);
    return this.#readNumber();
  }

  /** Puts a finished value into its container, closing containers as they end. Answers the root when all are closed. */
  #store(finished: JsonValue): JsonValue | undefined {
    let value = finished;
    for (;;) {
      const depth = this.#open.length;
      if (depth === 0) return value;
      const parent = this.#open[depth - 1] as JsonObject | JsonValue[];
      const isArray = Array.isArray(parent);
      if (isArray) parent.push(value);
      else parent[this.#keys[depth - 1] as string] = value;
      this.#skipSpace();
      const code = this.#text.charCodeAt(this.#at);
      if (code === COMMA) {
        this.#at++;
        if (!isArray) this.#readKey(parent);
        return undefined;
      }
      if (code !== (isArray ? BRACKET_CLOSE : BRACE_CLOSE)) throw this.#notJson();
      this.#at++;
      value = this.#close();
    }
  }

  #openObject(): JsonValue | undefined {
    const object = emptyJsonObject();
    this.#enter(object);
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) === BRACE_CLOSE) {
      this.#at++;
      return this.#close();
    }
    this.#readKey(object);
    return undefined;
  }

  #openArray(): JsonValue | undefined {
    this.#enter([]);
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== BRACKET_CLOSE) return undefined;
    this.#at++;
    return this.#close();
  }

  #enter(container: JsonObject | JsonValue[]): void {
    if (this.#open.length >= this.#limits.depthMax) {
      throw this.#refusal("too_deep", `the JSON value is nested deeper than ${this.#limits.depthMax}`);
    }
    this.#at++;
    this.#open.push(container);
    this.#keys.push("");
  }

  #close(): JsonObject | JsonValue[] {
    this.#keys.pop();
    return this.#open.pop() as JsonObject | JsonValue[];
  }

  #readKey(object: JsonObject): void {
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#notJson();
    const key = this.#readString();
    this.#keys[this.#keys.length - 1] = key;
    if (key === "__proto__") throw this.#refusal("forbidden_key", "the key __proto__ is not allowed");
    if (key in object) throw this.#refusal("duplicate_key", "the same key appears twice");
    if (++this.#keysRead > this.#limits.keysMax) {
      throw this.#refusal("too_many_keys", `the JSON value has more than ${this.#limits.keysMax} keys`);
    }
    this.#skipSpace();
    if (this.#text.charCodeAt(this.#at) !== COLON) throw this.#notJson();
    this.#at++;
  }

  #readString(): string {
    const text = this.#text;
    const start = ++this.#at;
    let at = start;
    let hasEscape = false;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) break;
      if (code === BACKSLASH) {
        hasEscape = true;
        at += 2; // whatever follows is checked by JSON.parse below
      } else if (code >= 0x20) at++;
      else {
        this.#at = at; // a control character, or the end of the text (NaN fails the comparison above)
        throw this.#notJson();
      }
    }
    this.#at = at + 1;
    const value = hasEscape ? this.#unescape(start, at) : text.slice(start, at);
    if (!value.isWellFormed()) throw this.#refusal("lone_surrogate", "a string holds half of a surrogate pair");
    if (hasEscape && value.includes("\0")) throw this.#refusal("nul", "a string holds the character NUL");
    return value;
  }

  #unescape(start: number, end: number): string {
    try {
      return JSON.parse(this.#text.slice(start - 1, end + 1)) as string;
    } catch (cause) {
      this.#at = start;
      throw this.#notJson(cause);
    }
  }

  #readNumber(): number {
    NUMBER.lastIndex = this.#at;
    const literal = NUMBER.exec(this.#text)?.[0];
    if (literal === undefined) throw this.#notJson();
    this.#at += literal.length;
    const value = Number(literal);
    const isLost = value === 0 && /[1-9]/.test(literal.replace(/[eE].*$/, ""));
    if (isLost || !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) {
      throw this.#refusal("number", "a number does not survive JSON; send it as a string");
    }
    return value === 0 ? 0 : value; // -0 becomes 0
  }

  #readWord<T extends boolean | null>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#notJson();
    this.#at += word.length;
    return value;
  }

  #skipSpace(): void {
    const text = this.#text;
    let at = this.#at;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
      at++;
    }
    this.#at = at;
  }

  #notJson(cause?: unknown): Error {
    const where = this.#at >= this.#text.length ? "the text ends too early" : `unexpected text at position ${this.#at}`;
    return this.#refusal("not_json", `not exactly one JSON value: ${where}`, { position: this.#at, cause });
  }

  #refusal(kind: JsonRefusalKind, message: string, more: Readonly<Record<string, unknown>> = {}): Error {
    const path = this.#open.map((container, depth) =>
      Array.isArray(container) ? container.length : (this.#keys[depth] as string),
    );
    return jsonRefusal(kind, message, path, more);
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
