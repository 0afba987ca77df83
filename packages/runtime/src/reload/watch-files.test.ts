// Watching the files of a bundle: real files, with the system's events and without them.

import { EventEmitter } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type FileWatch, type WatchOptions, watchFiles } from "./watch-files.ts";

let root: string;
let outside: string;
let watch: FileWatch;
let changes: (readonly string[])[];
let warnings: string[];
beforeEach(() => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "tessera-watch-")));
  [root, outside] = [join(directory, "bundle"), join(directory, "outside")];
  [changes, warnings] = [[], []];
});
afterEach(async () => {
  await watch.stop();
  rmSync(dirname(root), { recursive: true, force: true });
});

function write(files: Readonly<Record<string, string>>, at = root): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(at, file)), { recursive: true });
    writeFileSync(join(at, file), text);
  }
}

async function start(options: Partial<WatchOptions> = {}): Promise<void> {
  watch = await watchFiles({
    root,
    not: [],
    isWatched: (file) => file.endsWith(".ts"),
    elsewhere: () => [],
    onChange: async (files) => void changes.push(files),
    onWarning: (warning) => void warnings.push(warning),
    clock: systemClock,
    ...options,
  });
}

const next = async (count: number) => {
  await waitFor(() => changes.length >= count, { what: `change ${count}` });
  return changes[count - 1]?.map((file) => file.replace(`${root}/`, "")).toSorted();
};

const noWatches = (code: string) => () => {
  throw Object.assign(new Error("no space"), { code });
};
const laterNoWatches = () => {
  const watcher = Object.assign(new EventEmitter(), { close: () => undefined });
  queueMicrotask(() => watcher.emit("error", Object.assign(new Error("no files"), { code: "EMFILE" })));
  return watcher as never;
};

describe.each([
  ["with events", {}, true],
  ["where the system has no watches left", { watch: noWatches("ENOSPC") }, false],
  ["where it has none after a while", { watch: laterNoWatches }, false],
  ["where the file system has none", { watch: noWatches("ENOSYS") }, false],
] as const)("files that change, %s", (_, options, hasEvents) => {
  it("are told when they change, come, go, or are replaced, and when several do, together", async () => {
    write({ "a.ts": "1", "deep/er/b.ts": "1", "c.txt": "1" });
    await start(options);
    await waitFor(() => watch.hasEvents === hasEvents, { what: "the kind of watch" });
    write({ "a.ts": "2" });
    expect(await next(1)).toEqual(["a.ts"]);
    write({ "deep/er/.b.swp": "2", "deep/er/new/c.ts": "1", "c.txt": "2" });
    renameSync(join(root, "deep/er/.b.swp"), join(root, "deep/er/b.ts"));
    rmSync(join(root, "a.ts"));
    await waitFor(() => new Set(changes.slice(1).flat()).size === 3, { what: "three changes" });
    expect([...new Set(changes.slice(1).flat())].toSorted()).toEqual(
      ["a.ts", "deep/er/b.ts", "deep/er/new/c.ts"].map((file) => join(root, file)),
    );
    const before = changes.length;
    write({ "deep/er/new/c.ts": "2" }); // in a directory that was not there before
    expect(await next(before + 1)).toEqual(["deep/er/new/c.ts"]);
    if (hasEvents) expect(warnings).toEqual([]);
    else
      expect(warnings).toEqual([
        expect.stringMatching(/file watches \((ENOSPC|EMFILE|ENOSYS)\), so the bundle is looked at every 500 ms/),
      ]);
  });
});

it("neither a touched file, nor node_modules, hidden directories and those that are named, are changes", async () => {
  write({ "a.ts": "1", "node_modules/p/x.ts": "1", ".git/x.ts": "1", "store/x.ts": "1" });
  await start({ not: [join(root, "store")] });
  write({ "node_modules/p/x.ts": "2", ".git/x.ts": "2", "store/x.ts": "2", "a.ts": "1" });
  utimesSync(join(root, "a.ts"), 1, 1);
  watch.lookSoon();
  write({ "last.ts": "1" });
  expect(await next(1)).toEqual(["last.ts"]);
});

it("a burst is one change or a few, and what happens while a change is handled is the next one", async () => {
  write({ "a.ts": "" });
  const handling = Promise.withResolvers<void>();
  await start({
    async onChange(files) {
      changes.push(files);
      if (changes.length === 1) await handling.promise;
    },
  });
  for (let n = 0; n < 500; n++) write({ [`many/${n}.ts`]: "" });
  await next(1);
  for (let n = 0; n < 100; n++) write({ "a.ts": String(n) });
  handling.resolve();
  await waitFor(() => changes.flat().includes(join(root, "a.ts")), { what: "the change meanwhile" });
  await waitFor(() => new Set(changes.flat()).size === 501, { what: "all of the burst" });
  expect(changes.length).toBeLessThan(10);
});

it("files elsewhere are looked at from when they belong to it", async () => {
  write({ "a.ts": "" });
  write({ "lib.ts": "1", "other.ts": "1" }, outside);
  let elsewhere: readonly string[] = [];
  await start({ elsewhere: () => elsewhere });
  elsewhere = [join(outside, "lib.ts")];
  let looks = 0;
  watch.lookSoon();
  await waitFor(() => looks++ > 20, { what: "a look to pass", intervalMs: 20 });
  expect(changes).toEqual([]);
  write({ "lib.ts": "2", "other.ts": "2" }, outside);
  expect(await next(1)).toEqual([join(outside, "lib.ts")]);
});

it("a change that could not be handled comes again", async () => {
  write({ "a.ts": "" });
  await start({
    async onChange(files) {
      changes.push(files);
      if (changes.length === 1) throw new Error("the store is away");
    },
  });
  write({ "a.ts": "2" });
  expect(await next(2)).toEqual(["a.ts"]);
  expect(warnings).toEqual(["changes of the bundle are tried again: Error: the store is away"]);
});

it("a file that a save empties before it fills it is one change, and one that is as it was before is none", async () => {
  write({ "a.ts": "1", "b.ts": "1" });
  const seen: string[] = [];
  await start({
    async onChange(files) {
      changes.push(files);
      for (const file of files) seen.push(readFileSync(file, "utf8"));
    },
  });
  for (let n = 0; n < 30; n++) {
    for (const file of ["a.ts", "b.ts"]) truncateSync(join(root, file));
    watch.lookSoon();
    await new Promise((resolve) => setImmediate(resolve));
    write({ "a.ts": `a${n}`, "b.ts": "1" });
  }
  await waitFor(() => seen.at(-1) === "a29", { what: "the last save" });
  expect(seen).not.toContain("");
  expect(new Set(changes.flat())).toEqual(new Set([join(root, "a.ts")]));
});
