// Recursion depth: how many agents stand between a turn and the person who asked.
//
//   R1. A depth is a whole number from 0; RECURSION_DEPTH_MAX or more is refused at spawn, enqueue, report and step.
//   R2. The kernel computes the depth of a spawned turn from a policy; callers do not add.
//   R3. A tool command carries its caller's depth, and its report the same one as the request.

import { BadRequest, ProtocolViolation } from "../errors/errors.ts";
import { RECURSION_DEPTH_MAX } from "../limits.ts";
import { parseCanonicalInteger } from "./headers.ts";

/** descend: parent + 1. peer: as the parent. root: 0, and the parent fields are cleared. */
export const DEPTH_POLICIES = ["descend", "peer", "root"] as const;
export type DepthPolicy = (typeof DEPTH_POLICIES)[number];

export function parseRecursionDepth(value: unknown): number {
  const depth = typeof value === "string" ? parseCanonicalInteger(value.trim()) : value;
  if (typeof depth !== "number" || !Number.isSafeInteger(depth) || depth < 0) {
    throw new ProtocolViolation("the recursion depth must be a whole number from 0", {
      details: { field: "recursion_depth" },
    });
  }
  return depth;
}

export function spawnedDepth(parent_depth: number, policy: DepthPolicy): number {
  if (policy === "root") return 0;
  return policy === "peer" ? parent_depth : parent_depth + 1;
}

export function isDepthExceeded(depth: number, depth_max: number = RECURSION_DEPTH_MAX): boolean {
  return depth >= depth_max;
}

export function requireDepthAllowed(depth: number, depth_max: number = RECURSION_DEPTH_MAX): void {
  if (!isDepthExceeded(depth, depth_max)) return;
  throw new BadRequest(`recursion depth ${depth} is not below ${depth_max}`, {
    code: "recursion_depth_exceeded",
    details: { recursion_depth: depth, recursion_depth_max: depth_max },
  });
}

/** A response must have the depth of its earliest request (R3). Null: no such request was ever written. */
export function requireSameDepth(request_depth: number | null, response_depth: number): void {
  if (request_depth === response_depth) return;
  const found =
    request_depth === null ? "there is no request with this correlation id" : `the request has ${request_depth}`;
  throw new ProtocolViolation(`response with recursion depth ${response_depth} refused: ${found}`, {
    details: { field: "recursion_depth" },
  });
}
