// Projects over HTTP: who sees which, what is refused by field, and changes that meet.

import { describe, expect, it } from "vitest";
import { OTHER, PROJECT } from "../../test/fixture.ts";
import { useManagement } from "../../test/management-fixture.ts";

const fx = useManagement();
const make = (json: unknown, key = "admin") => fx.post("/projects", json, key);
const patch = (projectId: string, json: unknown, headers = {}, key = "admin") =>
  fx.send("PATCH", `/projects/${projectId}`, { key, json, headers });

describe("making a project", () => {
  it("answers it with a revision and an ETag, and finds it again", async () => {
    const made = await make({ project_id: "made", title: "Made", owner_id: "o1" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ project_id: "made", title: "Made", owner_id: "o1", status: "active" });
    expect(made.headers.etag).toBe(`"r${made.body.revision}"`);
    const found = await fx.get("/projects/made", "admin");
    expect([found.status, found.headers.etag]).toEqual([200, made.headers.etag]);
    expect(found.body).toEqual(made.body);
  });

  it("mints an id when none is given", async () => {
    const made = await make({ title: "T", owner_id: "o", bootstrap: false });
    expect(made.body.project_id).toMatch(/^proj_[0-9a-f]{12}$/);
  });

  it("refuses an id that is taken, and leaves that project as it is", async () => {
    await make({ project_id: "twice", title: "First", owner_id: "o" });
    const again = await make({ project_id: "twice", title: "Second", owner_id: "o" });
    expect([again.status, again.body.error_code, again.body.error_detail]).toEqual([
      409,
      "conflict",
      { field: "project_id" },
    ]);
    expect((await fx.get("/projects/twice", "admin")).body.title).toBe("First");
  });

  it.each([
    ["title", { owner_id: "o" }],
    ["title", { title: "", owner_id: "o" }],
    ["owner_id", { title: "t" }],
    ["owner_id", { title: "t", owner_id: "" }],
    ["project_id", { title: "t", owner_id: "o", project_id: "a b" }],
    ["project_id", { title: "t", owner_id: "o", project_id: "con" }],
    ["bootstrap", { title: "t", owner_id: "o", bootstrap: "yes" }],
    ["evil", { title: "t", owner_id: "o", evil: 1 }],
  ])("names %s when it does not fit", async (field, json) => {
    const answer = await make(json);
    expect([answer.status, answer.body.error_detail.field]).toEqual([400, field]);
  });

  it("is for administrators of all projects", async () => {
    expect((await make({ title: "t", owner_id: "o" }, "admin1")).status).toBe(403);
    expect((await make({ title: "t", owner_id: "o" }, "operator")).status).toBe(403);
  });
});

describe("listing projects", () => {
  it("shows a key of one project that one only", async () => {
    expect((await fx.get("/projects")).body.projects).toMatchObject([{ project_id: PROJECT }]);
  });

  it("shows all of them page by page, each once", async () => {
    for (let n = 0; n < 5; n += 1) await make({ project_id: `page${n}`, title: "t", owner_id: "o" });
    const ids = (await fx.pages("/projects", "projects", 2, "admin")).map((row) => row.project_id);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    expect(ids).toEqual(expect.arrayContaining([PROJECT, OTHER, "page0", "page4"]));
  });
});

describe("changing a project", () => {
  it("keeps what is not said", async () => {
    await make({ project_id: "kept", title: "Title", owner_id: "owner" });
    const changed = await patch("kept", { status: "archived" });
    expect(changed.body).toMatchObject({ title: "Title", owner_id: "owner", status: "archived" });
    expect((await patch("kept", { title: "New" })).body).toMatchObject({ title: "New", status: "archived" });
  });

  it("takes one of two changes of the same version and answers 412 to the other", async () => {
    const made = await make({ project_id: "race", title: "0", owner_id: "o" });
    const headers = { "if-match": String(made.headers.etag) };
    const answers = await Promise.all([patch("race", { title: "1" }, headers), patch("race", { title: "2" }, headers)]);
    expect(answers.map((answer) => answer.status).toSorted()).toEqual([200, 412]);
    const lost = answers.find((answer) => answer.status === 412);
    expect(lost?.body).toMatchObject({ error_code: "precondition_failed", error_detail: { field: "If-Match" } });
    const kept = answers.find((answer) => answer.status === 200)?.body.title;
    expect((await fx.get("/projects/race", "admin")).body.title).toBe(kept);
  });

  it("applies two changes that name no version one after the other", async () => {
    await make({ project_id: "both", title: "0", owner_id: "o" });
    const answers = await Promise.all([patch("both", { title: "1" }), patch("both", { status: "inactive" })]);
    expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
    expect((await fx.get("/projects/both", "admin")).body).toMatchObject({ title: "1", status: "inactive" });
  });

  it.each([
    ["*", 200],
    ['W/"r1"', 412],
    ['"r999"', 412],
    ["r1", 400],
    ['"a", "b"', 400],
  ])("takes If-Match %s with %i", async (tag, status) => {
    expect((await patch(OTHER, { title: "t" }, { "if-match": tag })).status).toBe(status);
  });

  it.each([
    ["status", { status: "deleting" }],
    ["title", { title: "" }],
    ["owner_id", { owner_id: "x" }],
    ["", {}],
  ])("names %j when it does not fit", async (field, json) => {
    const answer = await patch(PROJECT, json);
    expect(answer.status).toBe(400);
    expect(answer.body.error_detail.field).toBe(field);
  });

  it("answers 404 for a project that is not there, and for one of another key", async () => {
    expect((await patch("nowhere", { title: "t" })).status).toBe(404);
    expect((await patch(OTHER, { title: "t" }, {}, "operator")).status).toBe(404);
  });
});

describe("removing a project", () => {
  const remove = (projectId: string, key = "admin") => fx.send("DELETE", `/projects/${projectId}`, { key });

  it("removes it once; then it is not there", async () => {
    await make({ project_id: "gone", title: "t", owner_id: "o" });
    expect((await remove("gone")).status).toBe(204);
    expect((await remove("gone")).status).toBe(404);
    expect((await fx.get("/projects/gone", "admin")).status).toBe(404);
  });

  it("refuses while a turn is open", async () => {
    await fx.suspended();
    const answer = await remove(PROJECT, "admin1");
    expect([answer.status, answer.body.error_code]).toEqual([409, "conflict"]);
    expect((await fx.get(`/projects/${PROJECT}`)).status).toBe(200);
  });

  it("is for administrators", async () => {
    expect((await remove(PROJECT, "operator")).status).toBe(403);
  });
});

describe("bootstrap", () => {
  it("is answered alike as often as it is asked for", async () => {
    for (let n = 0; n < 2; n += 1) {
      const answer = await fx.send("POST", `/projects/${PROJECT}/bootstrap`, { key: "operator" });
      expect([answer.status, answer.body]).toEqual([202, { status: "ok" }]);
    }
    expect((await fx.send("POST", "/projects/nowhere/bootstrap", { key: "admin" })).status).toBe(404);
  });
});
