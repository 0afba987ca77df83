import { mkdir, mkdtemp, realpath, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openWorkspaces } from "./workspaces.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "tessera-workspaces-"));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const owner = { project_id: "p1", agent_id: "agent_1" };

describe("a workspace", () => {
  it("is a directory of its own per project and agent, which only the owner can read", async () => {
    const workspaces = await openWorkspaces(join(root, "new", "place"));
    const workdir = workspaces.workdirOf(owner);
    expect(workdir).toBe(join(await realpath(root), "new", "place", "p1", "agent_1"));
    expect((await stat(workdir)).mode & 0o777).toBe(0o700);
    expect(workspaces.workdirOf(owner)).toBe(workdir);
    expect(workspaces.workdirOf({ ...owner, project_id: "p2" })).not.toBe(workdir);
  });

  it("is the real path even when the root is a link", async () => {
    await mkdir(join(root, "real"));
    await symlink(join(root, "real"), join(root, "link"));
    const workspaces = await openWorkspaces(join(root, "link"));
    expect(workspaces.workdirOf(owner)).toBe(join(await realpath(root), "real", "p1", "agent_1"));
  });

  it.each(["project", "agent"])("is refused when the directory of its %s was replaced by a link", async (level) => {
    const workspaces = await openWorkspaces(root);
    const outside = await mkdtemp(join(tmpdir(), "tessera-outside-"));
    if (level === "agent") await mkdir(join(root, "p1"));
    await symlink(outside, level === "project" ? join(root, "p1") : join(root, "p1", "agent_1"));
    expect(() => workspaces.workdirOf(owner)).toThrow(expect.objectContaining({ code: "path_outside_workdir" }));
    await rm(outside, { recursive: true });
  });

  it("of a spawned instance is the directory that it was given in another's, made where it is missing", async () => {
    const workspaces = await openWorkspaces(root);
    const spawned = { project_id: "p1", agent_id: "agent_2", workdir: { agent_id: "agent_1", path: "a/b" } };
    expect(workspaces.workdirOf(spawned)).toBe(join(workspaces.workdirOf(owner), "a", "b"));
    expect((await stat(join(workspaces.workdirOf(owner), "a", "b"))).isDirectory()).toBe(true);
  });

  it.each(["..", "a/../b", "/etc", "a//b", ".", "a\0b", "n".repeat(256), "link/b"])(
    "of a spawned instance is refused outside of that: %j",
    async (path) => {
      const workspaces = await openWorkspaces(root);
      await symlink("/tmp", join(workspaces.workdirOf(owner), "link"));
      const spawned = { ...owner, agent_id: "agent_2", workdir: { agent_id: "agent_1", path } };
      expect(() => workspaces.workdirOf(spawned)).toThrow(expect.objectContaining({ code: "path_outside_workdir" }));
    },
  );

  it("is refused when a file stands in its place", async () => {
    const workspaces = await openWorkspaces(root);
    await writeFile(join(root, "p1"), "");
    expect(() => workspaces.workdirOf(owner)).toThrow(expect.objectContaining({ code: "path_outside_workdir" }));
  });

  it.each(["..", "a/b", "", ".", "a.b", "__proto__", "con", "a\0b"])("is refused for the id %j", async (id) => {
    const workspaces = await openWorkspaces(root);
    expect(() => workspaces.workdirOf({ ...owner, project_id: id })).toThrow(
      expect.objectContaining({ code: "invalid_id" }),
    );
    expect(() => workspaces.workdirOf({ ...owner, agent_id: id })).toThrow(
      expect.objectContaining({ code: "invalid_id" }),
    );
  });
});
