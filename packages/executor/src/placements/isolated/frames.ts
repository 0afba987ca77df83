// What a host and an isolated child say to each other: one JSON value per line, on pipes of their own, never on stdout.
//
//   F1. A frame names its call. What a handler still sends after its call was settled belongs to no call and is dropped.
//   F2. The host believes nothing: frames are bounded, pass the JSON gate and are checked where they are used.
//   F3. `started` is written before the handler is called. A child that dies without it has had no effect.
//   F4. Dates in what `ctx.runtime` sends and receives stay Dates.

import { ENVELOPE_DEPTH_EXTRA, JSON_DEPTH_MAX, JSON_KEYS_MAX, parseJson } from "@tessera/protocol";
import type { ToolInvocation, ToolLogEntry } from "@tessera/tool";
import type { FailureStack, ThrownFailure } from "@tessera/tool/run";

const MIB = 1024 * 1024;
/** A result is at most a card (1 MiB); as much again for a message with everything escaped. */
export const FRAME_BYTES_MAX = 4 * MIB;
/** Keys that a frame adds around an author's value. */
const ENVELOPE_KEYS_MAX = 64;

export interface ChildRun {
  readonly call: number;
  readonly invocation: ToolInvocation;
  readonly export_name: string;
  readonly workdir: string;
  readonly error_message_limit: number;
  readonly has_runtime: boolean;
}

export type ToChild =
  | { readonly type: "run"; readonly run: ChildRun }
  | { readonly type: "cancel"; readonly call: number }
  | { readonly type: "reply"; readonly call: number; readonly ask: number; readonly reply: RuntimeReply };

export type RuntimeReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: RuntimeError };

/** What a tool sees of an error of `ctx.runtime`: what a ToolError says to its model. */
export interface RuntimeError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly suggestion?: string;
  readonly helpUrl?: string;
  readonly retryable?: boolean;
}

export const RUNTIME_METHODS = ["request", "send", "spawn", "list", "catalog"] as const;
export type RuntimeMethod = (typeof RUNTIME_METHODS)[number];

export type FromChild =
  | { readonly type: "ready"; readonly handlers: readonly string[]; readonly reconcilers: readonly string[] }
  | { readonly type: "unusable"; readonly message: string; readonly stack: FailureStack }
  | { readonly type: "started"; readonly call: number }
  | { readonly type: "log"; readonly call: number; readonly level: ToolLogEntry["level"]; readonly message: string }
  | { readonly type: "progress"; readonly call: number; readonly update: unknown }
  /** An uncaught error is about to end the process. */
  | { readonly type: "uncaught"; readonly call: number; readonly stack: FailureStack }
  /** The tool read a variable that it does not see. */
  | { readonly type: "missing_variable"; readonly call: number; readonly name: string }
  | {
      readonly type: "ask";
      readonly call: number;
      readonly ask: number;
      readonly method: string;
      readonly args: readonly unknown[];
    }
  | {
      readonly type: "settled";
      readonly call: number;
      readonly executed: unknown;
      /** What the handler threw. */
      readonly failure?: ThrownFailure;
      /** The handler changed what every later call would see: do not use this child again. */
      readonly retire: boolean;
    }
  /** Follows `settled`. Retire: the call left work behind that may end or disturb the process later. */
  | { readonly type: "rested"; readonly call: number; readonly retire: boolean };

export function encodeFrame(frame: ToChild | FromChild): string {
  return `${JSON.stringify(frame)}\n`;
}

export interface FrameReaderOptions {
  readonly onFrame: (frame: unknown) => void;
  /** The other side broke the protocol; nothing more is read. */
  readonly onBroken: (why: string) => void;
  /** Reads one line. The child believes its host and takes plain objects, as a handler expects them. */
  readonly parse?: (line: string) => unknown;
}

/** Cuts a stream of bytes into frames, holding at most one of them (F2). */
export function createFrameReader(options: FrameReaderOptions): (chunk: Buffer) => void {
  const parse = options.parse ?? parseForeign;
  let parts: Buffer[] = [];
  let bytes = 0;
  let isBroken = false;
  const broken = (why: string) => {
    isBroken = true;
    parts = [];
    options.onBroken(why);
  };
  return (chunk) => {
    let from = 0;
    while (!isBroken) {
      const end = chunk.indexOf(0x0a, from);
      const part = chunk.subarray(from, end < 0 ? chunk.length : end);
      bytes += part.length;
      if (bytes > FRAME_BYTES_MAX) return broken(`a frame is longer than ${FRAME_BYTES_MAX} bytes`);
      parts.push(part);
      if (end < 0) return;
      const line = Buffer.concat(parts).toString("utf8");
      parts = [];
      bytes = 0;
      from = end + 1;
      let frame: unknown;
      try {
        frame = parse(line);
      } catch {
        return broken("a frame is not JSON");
      }
      options.onFrame(frame);
    }
  };
}

function parseForeign(line: string): unknown {
  return parseJson(line, {
    bytesMax: FRAME_BYTES_MAX,
    depthMax: JSON_DEPTH_MAX + ENVELOPE_DEPTH_EXTRA,
    keysMax: JSON_KEYS_MAX + ENVELOPE_KEYS_MAX,
  });
}

const DATE_KEY = "$tessera_date";

/** Dates become `{ $tessera_date: "…" }`, everything else is left to JSON (F4). */
export function encodeDates(value: unknown): unknown {
  if (value instanceof Date) return { [DATE_KEY]: Number.isNaN(value.getTime()) ? "" : value.toISOString() };
  return mapMembers(value, encodeDates);
}

export function decodeDates(value: unknown): unknown {
  if (typeof value === "object" && value !== null && DATE_KEY in value) {
    return new Date(String((value as Record<string, unknown>)[DATE_KEY]));
  }
  return mapMembers(value, decodeDates);
}

function mapMembers(value: unknown, map: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(map);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, map(member)]));
}
