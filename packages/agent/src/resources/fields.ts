// Readers of single fields. Each answers the value, or undefined when it is absent or wrong; what is wrong was reported.

import { DESCRIPTION_BYTES_MAX, isId, isJsonObject, type JsonObject, type JsonValue } from "@tessera/protocol";
import { given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";

const TEXT_CHARS_MAX = 1_000;
const NAME_CHARS_MAX = 128;
const TAGS_MAX = 64;
const LIST_MAX = 1_000;

export interface TextRule {
  readonly required?: boolean;
  readonly charsMax?: number;
}

/** Text on one line: names, versions, addresses. */
export function textAt(
  reading: ResourceReading,
  mapping: Mapping,
  key: string,
  { required = false, charsMax = TEXT_CHARS_MAX }: TextRule = {},
): string | undefined {
  const value = given(mapping.value, key);
  const pointer = `${mapping.pointer}/${key}`;
  if (value === undefined) {
    if (required) reading.misfit(pointer, `${key} is missing`);
    return undefined;
  }
  if (isLine(value, charsMax)) return value;
  reading.misfit(pointer, `${key} must be text of 1 to ${charsMax} characters on one line, found ${shown(value)}`);
  return undefined;
}

export function mappingAt(reading: ResourceReading, mapping: Mapping, key: string): Mapping | undefined {
  const value = given(mapping.value, key);
  const pointer = `${mapping.pointer}/${key}`;
  if (value === undefined) return undefined;
  if (isJsonObject(value)) return { value, pointer };
  reading.misfit(pointer, `${key} must be a mapping, found ${shown(value)}`);
  return undefined;
}

export function jsonAt(reading: ResourceReading, mapping: Mapping, key: string): JsonObject | undefined {
  return mappingAt(reading, mapping, key)?.value;
}

export function listAt(reading: ResourceReading, mapping: Mapping, key: string): readonly JsonValue[] | undefined {
  const value = given(mapping.value, key);
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.length <= LIST_MAX) return value;
  const found = Array.isArray(value) ? `${value.length} items` : shown(value);
  reading.misfit(`${mapping.pointer}/${key}`, `${key} must be a list of at most ${LIST_MAX}, found ${found}`);
  return undefined;
}

/** A list of short texts without repetition. */
export function namesAt(reading: ResourceReading, mapping: Mapping, key: string): readonly string[] | undefined {
  const list = listAt(reading, mapping, key);
  if (list === undefined) return undefined;
  const names = new Set<string>();
  for (const [index, value] of list.entries()) {
    if (isLine(value, NAME_CHARS_MAX)) names.add(value);
    else {
      const expected = `must be text of 1 to ${NAME_CHARS_MAX} characters on one line`;
      reading.misfit(`${mapping.pointer}/${key}/${index}`, `an item of ${key} ${expected}, found ${shown(value)}`);
    }
  }
  return [...names];
}

/** Tags: a list, or text with commas between them. */
export function tagsAt(reading: ResourceReading, mapping: Mapping, key: string): readonly string[] {
  const value = given(mapping.value, key);
  const pointer = `${mapping.pointer}/${key}`;
  if (typeof value !== "string") return limitTags(reading, pointer, namesAt(reading, mapping, key) ?? []);
  const tags = value
    .split(",")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
  if (tags.every((tag) => isLine(tag, NAME_CHARS_MAX))) return limitTags(reading, pointer, [...new Set(tags)]);
  reading.misfit(pointer, `a tag must be text of 1 to ${NAME_CHARS_MAX} characters, found ${shown(value)}`);
  return [];
}

function limitTags(reading: ResourceReading, pointer: string, tags: readonly string[]): readonly string[] {
  if (tags.length <= TAGS_MAX) return tags;
  reading.misfit(pointer, `at most ${TAGS_MAX} tags are allowed, found ${tags.length}`);
  return [];
}

export interface NumberRule {
  readonly min: number;
  readonly max: number;
  readonly whole?: boolean;
}

export function numberAt(
  reading: ResourceReading,
  mapping: Mapping,
  key: string,
  { min, max, whole = true }: NumberRule,
): number | undefined {
  const value = given(mapping.value, key);
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const expected = `${whole ? "a whole number" : "a number"} from ${min} to ${max}`;
  reading.misfit(`${mapping.pointer}/${key}`, `${key} must be ${expected}, found ${shown(value)}`);
  return undefined;
}

export function idAt(
  reading: ResourceReading,
  mapping: Mapping,
  key: string,
  { required = false }: Pick<TextRule, "required"> = {},
): string | undefined {
  const value = given(mapping.value, key);
  if (isId(value)) return value;
  if (value === undefined && !required) return undefined;
  const rule = "must be 1 to 64 letters, digits, _ and -";
  const message = value === undefined ? `${key} is missing` : `${key} ${rule}, found ${shown(value)}`;
  reading.misfit(`${mapping.pointer}/${key}`, message);
  return undefined;
}

export function descriptionAt(reading: ResourceReading, mapping: Mapping): string {
  return blockAt(reading, mapping, "description", DESCRIPTION_BYTES_MAX) ?? "";
}

/** Text of any number of lines, up to so many bytes. */
export function blockAt(reading: ResourceReading, mapping: Mapping, key: string, bytesMax: number): string | undefined {
  const value = given(mapping.value, key);
  if (value === undefined) return undefined;
  const pointer = `${mapping.pointer}/${key}`;
  if (typeof value !== "string") {
    reading.misfit(pointer, `${key} must be text, found ${shown(value)}`);
    return undefined;
  }
  const bytes = Buffer.byteLength(value);
  if (bytes <= bytesMax) return value;
  reading.misfit(pointer, `${key} has ${bytes} bytes; at most ${bytesMax} are allowed`);
  return undefined;
}

function isLine(value: JsonValue, charsMax: number): value is string {
  return (
    typeof value === "string" && value.trim() !== "" && value.length <= charsMax && !/[\p{Cc}\u2028\u2029]/u.test(value)
  );
}
