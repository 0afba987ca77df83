// Findings as text and as workflow commands.

import type { BundleReport, Finding } from "@tessera/runtime";
import { describe, expect, it } from "vitest";
import { printed } from "./printing-gate.ts";
import { githubOf, sumOf, textOf } from "./validate-formats.ts";

function finding(more: Partial<Finding>): Finding {
  const place = { file: "a.yaml", line: 3, column: 7, pointer: "" };
  return {
    severity: "error",
    code: "E_CONFIG_PARSE_ERROR",
    ...place,
    message: "m",
    expected: null,
    found: null,
    ...more,
  };
}

function report(findings: readonly Finding[]): BundleReport {
  return { root: "/", counts: { agents: 3, tools: 1, models: 0, swarms: 0, extensions: 0 }, findings };
}

describe("text", () => {
  it("is aligned, says the sum, and shows control characters instead of sending them", () => {
    const text = textOf(report([finding({}), finding({ severity: "info", file: "bb.yaml", message: "x\u001b[2Jy" })]));
    expect(printed(text).split("\n")).toEqual([
      "a.yaml:3:7   error  E_CONFIG_PARSE_ERROR  m",
      "bb.yaml:3:7  info   E_CONFIG_PARSE_ERROR  x\\u001b[2Jy",
      "3 agents, 1 tool: 1 mistake",
      "",
    ]);
  });

  it("colours severities, and breaks long messages between words", () => {
    const message = "this says more than a line of a terminal with 80 columns has room for";
    const one = report([finding({ severity: "warning", message })]);
    expect(printed(textOf(one), { isColoured: true, columns: 80 })).toContain("\u001b[33mwarning\u001b[0m");
    expect(printed(textOf(one), { isColoured: false, columns: 80 }).split("\n").slice(0, 2)).toEqual([
      "a.yaml:3:7  warning  E_CONFIG_PARSE_ERROR  this says more than a line of a",
      "    terminal with 80 columns has room for",
    ]);
    expect(sumOf(one)).toBe("3 agents, 1 tool: no mistakes, 1 warning");
  });
});

describe("workflow commands", () => {
  it("stay on one line and keep their properties apart, whatever the texts hold", () => {
    const text = githubOf(report([finding({ file: "a,b:c%.yaml", message: "50% of\r\n::error::x" })]));
    expect(text).toBe(
      "::error file=a%2Cb%3Ac%25.yaml,line=3,col=7,title=E_CONFIG_PARSE_ERROR::50%25 of%0D%0A::error::x\n",
    );
  });

  it("call a note a notice", () => {
    expect(githubOf(report([finding({ severity: "info" })]))).toMatch(/^::notice file=/);
  });
});
