import { formatSubject, matchesPattern, SUBJECT_CATEGORIES, SUBJECT_COMPONENTS } from "@tessera/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readPattern, readSubject } from "../delivery/subject.ts";
import { assertChannelPrefix, channelsOf } from "./channel.ts";
import { decodePayload, encodePayload } from "./payload.ts";

const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);
const subject = fc
  .record({
    project_id: token,
    channel_id: token,
    category: fc.constantFrom(...SUBJECT_CATEGORIES),
    component: fc.constantFrom(...SUBJECT_COMPONENTS),
    target: token,
    suffix: token,
  })
  .map(formatSubject);

describe("channels", () => {
  test("a subscriber of a pattern listens to the channel of every subject that matches it", () => {
    // Wildcards are put where a pattern may have them: anywhere but in root, version and category.
    const places = fc.subarray([2, 3, 5, 6, 7]);
    fc.assert(
      fc.property(subject, places, fc.option(fc.constantFrom(5, 6, 7), { nil: null }), (text, stars, rest) => {
        const tokens = text.split(".").map((each, index) => (stars.includes(index) ? "*" : each));
        const pattern = (rest === null ? tokens : [...tokens.slice(0, rest), ">"]).join(".");
        fc.pre(matchesPattern(text, pattern));
        const [channel, ...others] = channelsOf("bus", readSubject(text));
        expect(others).toEqual([]);
        expect(channelsOf("bus", readPattern(pattern))).toContain(channel);
      }),
    );
  });

  test("a literal target needs one channel, so an agent worker does not hear tool commands", () => {
    const worker = channelsOf("bus", readPattern("cg.v1r4.*.*.cmd.agent.default.wakeup"));
    const tool = channelsOf("bus", readPattern("cg.v1r4.*.*.cmd.tool.default.>"));
    expect(worker).toHaveLength(1);
    expect(tool).toHaveLength(1);
    expect(worker).not.toEqual(tool);
  });

  test.each(["", "A", "a-b", 'a"; drop table x; --', "a".repeat(41)])("the prefix %j is refused", (prefix) => {
    expect(() => assertChannelPrefix(prefix)).toThrow(RangeError);
  });
});

describe("payloads", () => {
  test("any message that is taken comes back equal", () => {
    const headers = fc.dictionary(fc.stringMatching(/^[A-Za-z-]{1,20}$/), fc.string({ unit: "binary" }));
    const data = fc.oneof(
      fc.uint8Array({ maxLength: 512 }),
      fc.string().map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(subject, headers, data, fc.nat(), (text, names, bytes, number) => {
        const decoded = decodePayload(encodePayload({ subject: text, headers: names, data: bytes }, number));
        expect(decoded?.subject).toBe(text);
        expect({ ...decoded?.headers }).toEqual({ ...names });
        expect(Buffer.from(decoded?.data ?? []).equals(bytes)).toBe(true);
      }),
    );
  });
});
