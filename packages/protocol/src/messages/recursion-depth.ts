// Recursion depth: how many agents stand between a turn and the person who asked.
//
//   R1. A depth is a whole number from 0; RECURSION_DEPTH_MAX or more is refused at spawn, enqueue, report and step.
//   R2. The kernel computes the depth of a spawned turn; callers do not add.
//   R3. A tool command carries its caller's depth, and its report the same one as the request.

import { BadRequest, ProtocolViolation } from "../errors/errors.ts";
import { RECURSION_DEPTH_MAX } from "../limits.ts";
import { parseCanonicalInteger } from "./headers.ts";

export function parseRecursionDepth(value: unknown): number {
  const depth = typeof value === "string" ? parseCanonicalInteger(value.trim()) : value;
  if (typeof depth !== "number" || !Number.isSafeInteger(depth) || depth < 0) {
    throw new ProtocolViolation("the recursion depth must be a whole number from 0", {
      details: { field: "recursion_depth" },
    });
  }
  return depth;
}

export function requireDepthAllowed(depth: number): void {
  if (depth < RECURSION_DEPTH_MAX) return;
  throw new BadRequest(`recursion depth ${depth} is not below ${RECURSION_DEPTH_MAX}`, {
    code: "recursion_depth_exceeded",
    details: { recursion_depth: depth, recursion_depth_max: RECURSION_DEPTH_MAX },
  });
}
