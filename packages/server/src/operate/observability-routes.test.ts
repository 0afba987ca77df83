// What happened, over HTTP: the report and its span, dead letters, the audit log, the invariants.

import { waitFor } from "@tessera/testkit";
import { beforeAll, describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

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
    const first = await fx.get(`${OBSERVABILITY}/report?until=0001-01-01T00:00:00Z`);
    expect([first.status, first.body.since]).toEqual([200, "0001-01-01T00:00:00.000Z"]); // there is no day before
  });

  it.each([
    ["since", "since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z"],
    ["since", "since=yesterday"],
    ["since", "since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:01Z"],
    ["since", "since=2025-01-01T00:00:00Z"],
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

describe("the audit log of the store", () => {
  it("has what belongs to no project, and names a project that is gone, each entry once, the newest first", async () => {
    await fx.kernel.putProject({ project_id: "p_gone" });
    expect((await fx.send("DELETE", "/projects/p_gone", { key: "admin" })).status).toBe(204);
    const noted = () => fx.pages("/store/audit", "entries", 2, "admin");
    const isNoted = async () => (await noted()).some(({ kind }) => kind === "api.deleteProject");
    await waitFor(isNoted, { what: "the note" });
    await fx.kernel.putAudit({ project_id: null, kind: "test", code: "older" });
    await fx.kernel.putAudit({ project_id: null, kind: "test", code: "newer" });
    const [newest, next, deleted] = await noted();
    expect([newest, next]).toMatchObject([
      { project_id: null, code: "newer" },
      { project_id: null, code: "older" },
    ]);
    expect(deleted).toMatchObject({
      ...{ project_id: null, kind: "api.deleteProject", code: "ok", principal: fx.keyIds.admin },
      detail: { project_id: "p_gone" },
    });
    const ids = (await noted()).map(({ audit_id }) => audit_id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("is for an administrator of all projects", async () => {
    expect((await fx.get("/store/audit", "admin1")).status).toBe(403);
    expect((await fx.get("/store/audit", "allViewer")).status).toBe(403);
  });

  it("takes no cursor of a project's", async () => {
    const { next_cursor } = (await fx.get(`${OBSERVABILITY}/audit?limit=1`, "admin")).body;
    expect(next_cursor).not.toBeNull();
    expect((await fx.get(`/store/audit?cursor=${encodeURIComponent(next_cursor)}`, "admin")).status).toBe(400);
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

  it("refuses others, other words, and says so in a process that cannot", async () => {
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
