import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  classifySubject,
  formatSubject,
  isToken,
  matchesPattern,
  parseSubject,
  SUBJECT_CATEGORIES,
  SUBJECT_COMPONENTS,
  SUBJECT_VERSIONS,
  safeLabel,
  subjectFamily,
} from "./subject.ts";

const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/);

describe("parsing a subject", () => {
  test("reads back whatever was formatted", () => {
    const parts = fc.record({
      version: fc.constantFrom(...SUBJECT_VERSIONS),
      project_id: token,
      channel_id: token,
      category: fc.constantFrom(...SUBJECT_CATEGORIES),
      component: fc.constantFrom(...SUBJECT_COMPONENTS),
      target: token,
      suffix: fc.array(token, { minLength: 1, maxLength: 4 }).map((tokens) => tokens.join(".")),
    });
    fc.assert(
      fc.property(parts, (value) => {
        expect(parseSubject(formatSubject(value))).toEqual(value);
      }),
    );
  });

  test("never throws, whatever the text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void classifySubject(text)));
  });

  test("keeps the dots of the suffix", () => {
    expect(parseSubject("cg.v1r4.p.c.cmd.sys.pmo.internal.fork_join")).toEqual({
      version: "v1r4",
      project_id: "p",
      channel_id: "c",
      category: "cmd",
      component: "sys",
      target: "pmo",
      suffix: "internal.fork_join",
    });
  });

  test.each([
    ["three tokens", "cg.v1r4.p"],
    ["seven tokens", "cg.v1r4.p.c.cmd.tool.t"],
    ["twelve tokens", "cg.v1r4.p.c.cmd.tool.t.a.b.c.d.e"],
    ["another root", "xx.v1r4.p.c.cmd.tool.t.a"],
    ["a * token", "cg.v1r4.*.c.cmd.tool.t.a"],
    ["a > token", "cg.v1r4.p.c.cmd.tool.t.>"],
    ["an empty token", "cg.v1r4..c.cmd.tool.t.a"],
    ["a letter outside ASCII", "cg.v1r4.pröject.c.cmd.tool.t.a"],
    ["a space", "cg.v1r4.p p.c.cmd.tool.t.a"],
    ["a line break at the end", "cg.v1r4.p.c.cmd.tool.t.a\n"],
    ["an unknown category", "cg.v1r4.p.c.req.tool.t.a"],
    ["an unknown component", "cg.v1r4.p.c.cmd.robot.t.a"],
    ["a version that is none", "cg.latest.p.c.cmd.tool.t.a"],
    ["nothing", ""],
    ["far too much", `cg.v1r4.p.c.cmd.tool.t.${"a".repeat(600)}`],
  ])("calls a subject with %s invalid", (_, subject) => {
    expect(classifySubject(subject)).toEqual({ kind: "invalid_subject" });
    expect(parseSubject(subject)).toBeNull();
  });

  test.each(["v0", "v999", "v1", "v1r5"])("distinguishes version %s from a broken subject", (version) => {
    const subject = `cg.${version}.p.c.cmd.tool.t.a`;
    expect(classifySubject(subject)).toEqual({ kind: "unsupported_version", version });
    expect(parseSubject(subject)).toBeNull();
  });
});

describe("building a subject", () => {
  const good = {
    project_id: "p",
    channel_id: "c",
    category: "cmd",
    component: "tool",
    target: "t",
    suffix: "a",
  } as const;
  test.each([
    { project_id: "p.c" },
    { project_id: "" },
    { channel_id: "*" },
    { target: "a.b" },
    { target: "t t" },
    { suffix: "" },
    { suffix: ">" },
    { suffix: "a..b" },
  ])("refuses %o, which would move or widen tokens", (patch) => {
    expect(() => formatSubject({ ...good, ...patch })).toThrow(expect.objectContaining({ code: "invalid_subject" }));
  });
});

test.each([
  ["cg.v1r4.p.c.cmd.tool.t.a", "cg.v1r4.*.*.cmd.>", true],
  ["cg.v1r4.p.c.cmd.tool.t.a", "cg.v1r4.*.*.cmd.tool.t.*", true],
  ["cg.v1r4.p.c.cmd.tool.t.a.b", "cg.v1r4.*.*.cmd.tool.t.*", false],
  ["cg.v1r4.p.c.evt.tool.t.a", "cg.v1r4.*.*.cmd.>", false],
  ["a.b", "a.b.>", false],
  ["a.b.c", "a.b.>", true],
  ["a.b.c", ">", true],
  ["a.b.c", "a.>.c", false],
  ["a.b", "a.b.c", false],
])("%s matches %s: %s", (subject, pattern, expected) => {
  expect(matchesPattern(subject, pattern)).toBe(expected);
});

test("families are distinguished by their whole tail", () => {
  expect(subjectFamily("cg.v1r4.p.c.cmd.agent.worker.wakeup")).toBe("agent_wakeup");
  expect(subjectFamily("cg.v1r4.p.c.cmd.tool.t.wakeup")).toBe("tool_command");
  expect(subjectFamily("cg.v1r4.p.c.cmd.sys.pmo.internal.fork_join")).toBe("pmo_command");
  expect(subjectFamily("cg.v1r4.p.c.cmd.tool.t.a.b")).toBeNull();
});

test("a safe label is always a token", () => {
  expect(safeLabel("a.b c/ü")).toBe("a_b_c__");
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 128, unit: "binary-ascii" }), (text) => isToken(safeLabel(text))),
  );
});
