// The limits that SQL spells out are protocol's constants. A change of one without the other goes red here.

import {
  CALLS_PER_STEP_MAX,
  CARD_CONTENT_BYTES_MAX,
  CRASHES_MAX,
  ERROR_MESSAGE_CHARS_MAX,
  FAN_OUT_MAX,
  FORK_JOIN_DEADLINE_MS,
  FUNCTION_ITEMS_MAX,
  HANGS_MAX,
  INBOX_PER_AGENT_MAX,
  LEASE_MS,
  RECURSION_DEPTH_MAX,
  RING_FIRST_MS,
  RING_MAX_MS,
  TURNS_PER_TRACE_MAX,
} from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { readSqlFolder } from "./sql-files.ts";

const files = new Map(readSqlFolder("functions").map((file) => [file.name, file.text]));

const SPELLED: readonly { file: string; text: string }[] = [
  { file: "02_rounds.sql", text: `jsonb_array_length(items) > ${FUNCTION_ITEMS_MAX} then` },
  { file: "10_suspend_on_calls.sql", text: `s.step_size > ${CALLS_PER_STEP_MAX} then` },
  { file: "10_suspend_on_calls.sql", text: `least(c.deadline_ms, ${RING_FIRST_MS})` },
  { file: "11_open_call.sql", text: `coalesce(i.lease_ms, ${LEASE_MS})` },
  { file: "12_renew_call.sql", text: `coalesce(i.lease_ms, ${LEASE_MS})` },
  { file: "13_put_result_card.sql", text: `octet_length(content::text) > ${CARD_CONTENT_BYTES_MAX}` },
  { file: "13_put_result_card.sql", text: `> ${ERROR_MESSAGE_CHARS_MAX} then` },
  { file: "14_report.sql", text: `c.recursion_depth >= ${RECURSION_DEPTH_MAX}` },
  { file: "14_report.sql", text: `interval '${RING_FIRST_MS / 1_000} seconds'` },
  { file: "21_enqueue_turn.sql", text: `depth >= ${RECURSION_DEPTH_MAX}` },
  { file: "21_enqueue_turn.sql", text: `h.queue_length >= ${INBOX_PER_AGENT_MAX}` },
  { file: "21_enqueue_turn.sql", text: `b.turns < ${TURNS_PER_TRACE_MAX}` },
  { file: "26_plain_calls.sql", text: `least(h.deadline_ms, ${RING_FIRST_MS})` },
  { file: "26_plain_calls.sql", text: `coalesce(i.lease_ms, ${LEASE_MS})` },
  { file: "27_plain_results.sql", text: `c.recursion_depth < ${RECURSION_DEPTH_MAX}` },
  { file: "27_plain_results.sql", text: `interval '${RING_FIRST_MS / 1_000} seconds'` },
  { file: "30_workers.sql", text: `coalesce(i.lease_ms, ${LEASE_MS})` },
  { file: "30_workers.sql", text: `if crashes >= ${CRASHES_MAX}` },
  { file: "30_workers.sql", text: `coalesce(cardinality(t.hangs), 0) >= ${HANGS_MAX}` },
  {
    file: "31_sweep.sql",
    text: `least(${RING_FIRST_MS / 1_000} * power(2, least(rings, 10)), ${RING_MAX_MS / 1_000})`,
  },
  { file: "50_batches.sql", text: `not between 1 and ${FAN_OUT_MAX}` },
  { file: "50_batches.sql", text: `coalesce(i.deadline_ms, ${FORK_JOIN_DEADLINE_MS})` },
];

describe("a limit in SQL", () => {
  for (const { file, text } of SPELLED) {
    it(`is protocol's: ${file} says ${text}`, () => {
      expect(files.get(file)).toContain(text);
    });
  }
});
