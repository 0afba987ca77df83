import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDirectory } from "./store-directory.ts";

describe("the directory of a store", () => {
  it("is made with all its parents, for its owner only", () => {
    const root = mkdtempSync(join(tmpdir(), "tessera-directory-"));
    try {
      makeDirectory(join(root, "a", "b", "c"));
      makeDirectory(join(root, "a", "b", "c"));
      expect(statSync(join(root, "a", "b", "c")).mode & 0o777).toBe(0o700);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  it("that a file system refuses is an error at once, not an endless try", () => {
    const refusing = existsSync("/proc") ? "/proc/tessera/store" : "/dev/null/store";
    expect(() => makeDirectory(refusing)).toThrow(/ENOENT|ENOTDIR/);
  });
});
