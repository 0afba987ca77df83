// What happened, over HTTP: the report and its span, dead letters, the audit log, the invariants.

import { beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../test/fixture.ts";
import { useManagement } from "../test/management-fixture.ts";

const fx = useManagement();
const OBSERVABILITY = `/projects/${PROJECT}/observability`;

beforeAll(async () => {
  await fx.suspended([{}, {}]);
  for (let n = 0; n < 5; n += 1) {
    await fx.kernel.putDeadLetter({
      project_id: PROJECT,
      correlation_id: `c${n}`,
      reason: "bad_request",
      detail: { n },
    });
  }
  await fx.kernel.putDeadLetter({ project_id: OTHER, correlation_id: "foreign", reason: "bad_request" });
});

describe("the report", () => {
  it("counts the last day when nothing is said", async () => {
    const answer = await fx.get(`${OBSERVABILITY}/report`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ since: "2025-12-31T00:00:00.000Z", until: null, dead_letters: 5 });
    expect(answer.body.calls).toMatchObject([{ tool_name: "echo__run", count: 2, open: 2 }]);
    expect(answer.body.backlog.active).toBe(1);
  });

  it("counts nothing of another time or another project", async () => {
    const before = await fx.get(`${OBSERVABILITY}/report?since=2020-01-01T00:00:00Z&until=2020-02-01T00:00:00Z`);
    expect(before.body).toMatchObject({ turns: [], calls: [], dead_letters: 0 });
    const other = await fx.get(`/projects/${OTHER}/observability/report`, "operator2");
    expect(other.body).toMatchObject({ calls: [], dead_letters: 1 });
  });

  it("begins a day before its end when only the end is said", async () => {
    const answer = await fx.get(`${OBSERVABILITY}/report?until=2026-05-02T08:00:00Z`);
    expect(answer.body.since).toBe("2026-05-01T08:00:00.000Z");
  });

  it.each([
    ["since", "since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z"],
    ["since", "since=yesterday"],
    ["until", "until=2026-02-30T00:00:00Z"],
    ["jaeger", "jaeger=http://127.0.0.1:16686"],
    ["max_otel_traces", "max_otel_traces=1"],
  ])("names %s when it does not fit", async (field, query) => {
    const answer = await fx.get(`${OBSERVABILITY}/report?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.error_message).toContain(field);
  });
});

describe("dead letters", () => {
  it("are listed each once, the newest first, page by page", async () => {
    const rows = await fx.pages(`${OBSERVABILITY}/dead-letters`, "dead_letters", 2);
    expect(rows.map((row) => row.correlation_id)).toEqual(["c4", "c3", "c2", "c1", "c0"]);
  });
});

describe("the audit log", () => {
  it("is listed for administrators, each entry once, the newest first", async () => {
    for (let n = 0; n < 5; n += 1) {
      await fx.kernel.putAudit({ project_id: PROJECT, kind: "test", code: `n${n}`, principal: "me", detail: {} });
    }
    await fx.kernel.putAudit({ project_id: OTHER, kind: "test", code: "foreign", principal: "me", detail: {} });
    const rows = await fx.pages(`${OBSERVABILITY}/audit`, "entries", 2, "admin1");
    const codes = rows.filter((row) => row.kind === "test").map((row) => row.code);
    expect(codes).toEqual(["n4", "n3", "n2", "n1", "n0"]);
    expect((await fx.get(`${OBSERVABILITY}/audit`, "operator")).status).toBe(403);
  });
});

describe("verifying the store", () => {
  it("answers for an administrator of all projects", async () => {
    const answer = await fx.get("/store/verify", "admin");
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ violations: [] });
    expect(answer.body.checked).toBeGreaterThan(0);
  });

  it("finds what is left over when nothing should be under way", async () => {
    const answer = await fx.get("/store/verify?drained=true", "admin");
    expect(answer.body.violations.length).toBeGreaterThan(0);
  });

  it("refuses others, other words, and says where nobody can", async () => {
    expect((await fx.get("/store/verify", "admin1")).status).toBe(403);
    expect((await fx.get("/store/verify", "operator")).status).toBe(403);
    expect((await fx.get("/store/verify?drained=yes", "admin")).status).toBe(400);
    const bare = await fx.another({ ports: {} });
    try {
      expect((await fx.get("/store/verify", "admin", bare)).status).toBe(501);
    } finally {
      await bare.close();
    }
  });
});
