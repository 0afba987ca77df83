import { execFileSync } from "node:child_process";
import { constants } from "node:fs";
import { chmod, link, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Bench, startBench } from "../../test/builtin-bench.ts";
import { openDirectory, openFile, resolveInside } from "./workdir-path.ts";

let base: string;
let workdir: string;
let outside: string;
let bench: Bench;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "file-system-"));
  workdir = join(base, "workdir");
  outside = join(base, "outside");
  await mkdir(workdir);
  await mkdir(outside);
  await mkdir(join(base, "workdir-evil"));
  await writeFile(join(outside, "secret.txt"), "secret");
  await writeFile(join(base, "workdir-evil", "secret.txt"), "secret");
  bench = startBench({ clock: systemClock, context: { workdir } });
});
afterEach(() => rm(base, { recursive: true, force: true }));

/** Of fifty attempts each; one has met both states so far. */
const SWAP_ROUNDS_MAX = 40;
const at = (name: string) => join(workdir, name);

describe("file-system", () => {
  it("writes, appends, reads and lists", async () => {
    expect(await bench.output("file-system__write", { path: "a/b/c.txt", content: "hällo" })).toEqual({
      path: "a/b/c.txt",
      size: 6,
      written: true,
      append: false,
    });
    expect(await bench.output("file-system__write", { path: "a/b/c.txt", content: "!", append: true })).toEqual({
      path: "a/b/c.txt",
      size: 7,
      written: true,
      append: true,
    });
    expect(await bench.output("file-system__read", { path: "a/b/c.txt" })).toEqual({
      path: "a/b/c.txt",
      size: 7,
      truncated: false,
      content: "hällo!",
    });
    expect(await bench.output("file-system__list", { recursive: true })).toEqual({
      path: ".",
      recursive: true,
      count: 3,
      entries: [
        { name: "a", path: "a", type: "dir" },
        { name: "b", path: "a/b", type: "dir" },
        { name: "c.txt", path: "a/b/c.txt", type: "file", size: 7 },
      ],
    });
    expect(await bench.output("file-system__list", { recursive: true, includeDirs: false })).toMatchObject({
      count: 1,
    });
    expect(await bench.output("file-system__list", { recursive: true, includeFiles: false })).toMatchObject({
      count: 2,
    });
  });

  it("lists by path, the content of a directory behind the directory", async () => {
    for (const path of ["b/z.txt", "a.txt", "b.txt", "B/x"]) {
      await bench.output("file-system__write", { path, content: "x" });
    }
    const { entries } = await bench.output("file-system__list", { recursive: true });
    const paths = (entries as { path: string }[]).map(({ path }) => path);
    expect(paths).toEqual(["a.txt", "b", "B", "b.txt", "B/x", "b/z.txt"]);
  });

  it("answers a later attempt at a new directory: the one before may have made it", async () => {
    await mkdir(at("made"));
    const second = startBench({ clock: systemClock, context: { workdir, attempt: 2 } });
    const input = { path: "made", recursive: false };
    expect(await second.output("file-system__mkdir", input)).toEqual({ ...input, created: true });
  });

  it("replaces a longer file whole", async () => {
    await writeFile(at("a"), "a long text");
    await bench.output("file-system__write", { path: "a", content: "b" });
    expect(await readFile(at("a"), "utf8")).toBe("b");
  });

  it("takes an absolute path inside the workdir, also through the operator's own links", async () => {
    await writeFile(at("a"), "x");
    expect(await bench.output("file-system__read", { path: at("a") })).toMatchObject({ path: "a", content: "x" });
    const alias = join(base, "alias");
    await symlink(workdir, alias);
    const aliased = startBench({ clock: systemClock, context: { workdir: alias } });
    expect(await aliased.output("file-system__read", { path: join(alias, "a") })).toMatchObject({ path: "a" });
    expect(await aliased.output("file-system__list", { path: alias })).toMatchObject({ path: ".", count: 1 });
  });

  it("counts bytes and never cuts a character", async () => {
    await writeFile(at("a"), "aä€😀");
    const content = async (maxBytes: number) => bench.output("file-system__read", { path: "a", maxBytes });
    expect(await content(1)).toMatchObject({ content: "a", truncated: true, size: 10 });
    expect(await content(2)).toMatchObject({ content: "a", truncated: true });
    expect(await content(3)).toMatchObject({ content: "aä", truncated: true });
    expect(await content(5)).toMatchObject({ content: "aä", truncated: true });
    expect(await content(9)).toMatchObject({ content: "aä€", truncated: true });
    expect(await content(10)).toMatchObject({ content: "aä€😀", truncated: false });
    expect(await bench.code("file-system__read", { path: "a", maxBytes: 0 })).toBe("E_TOOL_INVALID_ARGS");
  });

  it("shows binary data as replacement characters", async () => {
    await writeFile(at("a"), Buffer.from([0x61, 0x00, 0xff, 0x62]));
    expect(await bench.output("file-system__read", { path: "a" })).toMatchObject({
      content: "a\ufffd\ufffdb",
      size: 4,
    });
  });

  it("makes directories, and answers the same for one that is there unless only a new one will do", async () => {
    expect(await bench.output("file-system__mkdir", { path: "a/b" })).toEqual({
      path: "a/b",
      created: true,
      recursive: true,
    });
    expect(await bench.output("file-system__mkdir", { path: "a/b" })).toMatchObject({ created: true });
    expect(await bench.output("file-system__mkdir", { path: "." })).toMatchObject({ created: true });
    expect(await bench.code("file-system__mkdir", { path: "a/b", recursive: false })).toBe("conflict");
    expect(await bench.code("file-system__mkdir", { path: ".", recursive: false })).toBe("conflict");
    expect(await bench.output("file-system__mkdir", { path: "a/c", recursive: false })).toMatchObject({
      created: true,
    });
    expect(await bench.code("file-system__mkdir", { path: "x/y", recursive: false })).toBe("not_found");
    await writeFile(at("f"), "");
    expect(await bench.code("file-system__mkdir", { path: "f" })).toBe("invalid_path");
    expect(await bench.code("file-system__mkdir", { path: "f/g" })).toBe("invalid_path");
  });

  it("says what is wrong with a path that cannot be used", async () => {
    expect(await bench.code("file-system__read", { path: "missing" })).toBe("not_found");
    expect(await bench.code("file-system__read", { path: "." })).toBe("invalid_path");
    await mkdir(at("d"));
    expect(await bench.code("file-system__read", { path: "d" })).toBe("invalid_path");
    expect(await bench.code("file-system__write", { path: "d", content: "x" })).toBe("invalid_path");
    expect(await bench.code("file-system__list", { path: "missing" })).toBe("not_found");
    const result = await bench.call("file-system__read", { path: "missing" });
    expect(JSON.stringify(result)).not.toContain(workdir);
  });

  it("lists at most as many entries as a card can hold, and says so", async () => {
    await Promise.all(Array.from({ length: 2_001 }, (_, index) => writeFile(at(`f${index}`), "")));
    expect(await bench.output("file-system__list")).toMatchObject({ count: 2_000, truncated: true });
    await rm(at("f0"));
    expect(await bench.output("file-system__list")).not.toHaveProperty("truncated");
  });
});

// T9.
describe("the way out of the workdir", () => {
  const OUT: readonly (readonly [string, string])[] = [
    ["/etc/passwd", "path_outside_workdir"],
    ["../x", "path_outside_workdir"],
    ["..", "path_outside_workdir"],
    ["a/../../x", "path_outside_workdir"],
    ["../workdir-evil/secret.txt", "path_outside_workdir"],
    ["../outside/secret.txt", "path_outside_workdir"],
    ["/proc/self/environ", "path_outside_workdir"],
    ["/dev/null", "path_outside_workdir"],
    ["x\0.txt", "invalid_path"],
    ["x".repeat(5_000), "invalid_path"],
    [`${"d/".repeat(10)}${"x".repeat(300)}`, "invalid_path"],
    ["", "invalid_path"],
  ];
  it.each(OUT)("%j is refused with %s", async (path, code) => {
    expect(await bench.code("file-system__read", { path })).toBe(code);
    expect(await bench.code("file-system__write", { path, content: "x" })).toBe(code);
    expect(await bench.code("file-system__list", { path })).toBe(code);
    expect(await bench.code("file-system__mkdir", { path })).toBe(code);
  });

  it("is closed for the twin of the workdir's name, also in absolute form", async () => {
    const path = `${workdir}-evil/secret.txt`;
    expect(await bench.code("file-system__read", { path })).toBe("path_outside_workdir");
  });

  it("is closed for links to a file, a directory, a missing file and /proc", async () => {
    await symlink(join(outside, "secret.txt"), at("file-link"));
    await symlink(outside, at("dir-link"));
    await symlink(join(outside, "new.txt"), at("dangling"));
    await symlink("../outside/secret.txt", at("relative"));
    await symlink("/proc/self", at("proc"));
    await symlink("loop", at("loop"));
    for (const path of ["file-link", "dir-link/secret.txt", "dangling", "relative", "proc/environ"]) {
      expect(await bench.code("file-system__read", { path }), path).toBe("path_outside_workdir");
      expect(await bench.code("file-system__write", { path, content: "x" }), path).toBe("path_outside_workdir");
    }
    expect(await bench.code("file-system__write", { path: "dir-link/new/x", content: "x" })).toBe(
      "path_outside_workdir",
    );
    expect(await bench.code("file-system__mkdir", { path: "dir-link/new" })).toBe("path_outside_workdir");
    expect(await bench.code("file-system__list", { path: "dir-link" })).toBe("path_outside_workdir");
    expect(await bench.code("file-system__read", { path: "loop" })).toBe("path_outside_workdir");
    await expect(readFile(join(outside, "new.txt"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("is not shown by a list: only directories and regular files are", async () => {
    await symlink(outside, at("out"));
    await symlink(join(outside, "secret.txt"), at("secret"));
    await writeFile(at("a"), "x");
    expect(await bench.output("file-system__list", { recursive: true })).toMatchObject({
      count: 1,
      entries: [{ name: "a", path: "a", type: "file" }],
    });
  });

  it("leaves links that stay inside usable", async () => {
    await mkdir(at("real"));
    await writeFile(at("real/f"), "x");
    await symlink("real", at("alias"));
    expect(await bench.output("file-system__read", { path: "alias/f" })).toMatchObject({
      path: "real/f",
      content: "x",
    });
  });

  it("is closed for hard links, in both directions", async () => {
    await link(join(outside, "secret.txt"), at("hard"));
    expect(await bench.code("file-system__read", { path: "hard" })).toBe("path_outside_workdir");
    expect(await bench.code("file-system__write", { path: "hard", content: "x" })).toBe("path_outside_workdir");
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("does not wait for FIFOs and takes no socket", async () => {
    execFileSync("mkfifo", [at("fifo")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at("socket"), resolve));
    for (const path of ["fifo", "socket"]) {
      expect(await bench.code("file-system__read", { path })).toBe("invalid_path");
      expect(await bench.code("file-system__write", { path, content: "x" })).toBe("invalid_path");
    }
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
});

describe("a swap between check and open", () => {
  it("of the file for a link reads and writes nothing outside", async () => {
    await writeFile(at("a"), "inside");
    const place = await resolveInside(workdir, "a");
    await rm(at("a"));
    await symlink(join(outside, "secret.txt"), at("a"));
    for (const flags of [constants.O_RDONLY, constants.O_WRONLY | constants.O_CREAT]) {
      await expect(openFile(place, flags)).rejects.toMatchObject({ code: "path_outside_workdir" });
    }
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("of a directory for a link reads nothing and makes nothing outside", async () => {
    await mkdir(at("d"));
    await writeFile(at("d/secret.txt"), "inside");
    const existing = await resolveInside(workdir, "d/secret.txt");
    const fresh = await resolveInside(workdir, "d/new.txt");
    const below = await resolveInside(workdir, "d/new/deep");
    await rename(at("d"), at("moved"));
    await symlink(outside, at("d"));
    await expect(openFile(existing, constants.O_RDONLY)).rejects.toMatchObject({
      code: expect.stringMatching(/^(path_outside_workdir|invalid_path)$/),
    });
    await expect(openFile(fresh, constants.O_WRONLY | constants.O_CREAT)).rejects.toThrow();
    await expect(openDirectory(below, { create: true })).rejects.toThrow();
    for (const name of ["new.txt", "new"]) {
      await expect(readFile(join(outside, name))).rejects.toMatchObject({ code: "ENOENT" });
    }
  });

  it("that goes on all the while is never won: nothing outside is read or written", async () => {
    await writeFile(at("good"), "inside");
    const found = new Map<string, number>();
    const note = (what: string) => found.set(what, (found.get(what) ?? 0) + 1);
    let isOver = false;
    const swapping = (async () => {
      for (let n = 0; !isOver; n++) {
        await symlink(n % 2 === 0 ? "good" : join(outside, "secret.txt"), at("next"));
        await rename(at("next"), at("a"));
      }
    })();
    for (let n = 0; n < SWAP_ROUNDS_MAX && found.size < 2; n++) {
      for (let round = 0; round < 50; round++) {
        const read = await bench.call("file-system__read", { path: "a" });
        note(read.status === "ok" ? String((read.output as { content: string }).content) : "refused");
        const written = await bench.call("file-system__write", { path: "a", content: "inside" });
        note(written.status === "ok" ? "inside" : "refused");
      }
    }
    isOver = true;
    await swapping;
    expect([...found.keys()].toSorted(), "both were met").toEqual(["inside", "refused"]);
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("of the file for a FIFO does not block", async () => {
    await writeFile(at("a"), "x");
    const place = await resolveInside(workdir, "a");
    await rm(at("a"));
    execFileSync("mkfifo", [at("a")]);
    await expect(openFile(place, constants.O_RDONLY)).rejects.toMatchObject({ code: "invalid_path" });
  });

  it("of the workdir's file for one that may not be read is an error of its own", async () => {
    await writeFile(at("a"), "x");
    await chmod(at("a"), 0o000);
    const isRoot = process.getuid?.() === 0;
    const result = await bench.call("file-system__read", { path: "a" });
    expect(result.error?.code).toBe(isRoot ? undefined : "forbidden");
  });
});
