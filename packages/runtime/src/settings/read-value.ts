// One value of a setting, read from text (a flag, a variable) or from the file, or why it is none.
//
//   V1. What was expected is said with the value that was found, except for secrets and URLs, which may hold one.
//   V2. Nothing is repaired: a number with a unit or an unknown name is a mistake.

import { isId } from "@tessera/protocol";
import { natsConnection } from "../process/open-bus.ts";
import { describePostgres } from "../store/store-place.ts";
import type { SettingSpec, SettingType } from "./table.ts";

export type SettingValue = string | number | boolean | readonly string[];
export type ReadValue = { readonly value: SettingValue } | { readonly expected: string };

const YES = ["1", "true", "yes", "on"];
const NO = ["0", "false", "no", "off"];
const SHOWN_CHARS_MAX = 60;

export function readValue({ type }: SettingSpec, given: unknown): ReadValue {
  switch (type.kind) {
    case "number":
      return readNumber(type, given);
    case "yes_no":
      return readYesNo(given);
    case "list":
      return readList(type, given);
    default:
      return typeof given === "string" && given.trim() !== "" && !given.includes("\0")
        ? readText(type, given)
        : { expected: expectedText(type) };
  }
}

/** What was found, as a message may show it (V1). */
export function shownValue({ type, isSecret }: SettingSpec, given: unknown): string {
  if (isSecret || type.kind.endsWith("_url")) return "something else";
  const text = JSON.stringify(given) ?? typeof given;
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX).toWellFormed()}…`;
}

type TextType = Exclude<SettingType, { kind: "number" | "yes_no" | "list" }>;

function readText(type: TextType, text: string): ReadValue {
  const isFitting = {
    path: () => !/^[a-z][a-z0-9+.-]*:\/\//i.test(text),
    postgres_url: () => isAccepted(() => describePostgres(text)),
    nats_url: () => isAccepted(() => natsConnection(text)),
    http_url: () => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
    id: () => isId(text),
    text: () => true,
    choice: () => type.kind === "choice" && type.of.includes(text),
  }[type.kind];
  return isFitting() ? { value: text } : { expected: expectedText(type) };
}

function isAccepted(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false; // its reader says why it refuses it; here the form is reported
  }
}

export function expectedText(type: SettingType): string {
  switch (type.kind) {
    case "path":
      return "a path";
    case "postgres_url":
      return "a URL like postgres://user@host:5432/database";
    case "nats_url":
      return "a URL like nats://host:4222";
    case "http_url":
      return "a URL like http://127.0.0.1:8099";
    case "id":
      return "1 to 64 letters, digits, _ and -";
    case "text":
      return "text";
    case "yes_no":
      return `${[...YES, ...NO].join(", ")}`;
    case "number":
      return `a ${type.whole ? "whole number" : "number"} from ${type.min} to ${type.max}`;
    case "choice":
      return `one of ${type.of.join(", ")}`;
    case "list":
      return type.of === undefined
        ? `a list of ${type.items}, separated by commas`
        : `a list of ${type.of.join(", ")}, separated by commas`;
  }
}

function readNumber(type: Extract<SettingType, { kind: "number" }>, given: unknown): ReadValue {
  const value = typeof given === "string" && given.trim() !== "" ? Number(given) : given;
  const isFitting =
    typeof value === "number" && value >= type.min && value <= type.max && (!type.whole || Number.isInteger(value));
  return isFitting ? { value } : { expected: expectedText(type) };
}

function readYesNo(given: unknown): ReadValue {
  if (typeof given === "boolean") return { value: given };
  const text = typeof given === "string" ? given.trim().toLowerCase() : "";
  if (YES.includes(text)) return { value: true };
  return NO.includes(text) ? { value: false } : { expected: expectedText({ kind: "yes_no" }) };
}

function readList(type: Extract<SettingType, { kind: "list" }>, given: unknown): ReadValue {
  const items = typeof given === "string" ? given.split(",").map((item) => item.trim()) : given;
  const expected = { expected: expectedText(type) };
  if (!Array.isArray(items)) return expected;
  const list = items.length === 1 && items[0] === "" ? [] : items; // an empty text holds none
  const isFitting = list.every(
    (item): item is string =>
      typeof item === "string" &&
      item !== "" &&
      (type.of?.includes(item) ?? true) &&
      (type.pattern?.test(item) ?? true),
  );
  return isFitting ? { value: list } : expected;
}
