import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, describe, expect, it, vi } from "vitest";
import { cachedSnapshot, compressedSnapshot } from "./snapshot-cache.ts";

describe("the cache of prepared stores", () => {
  afterEach(() => void vi.unstubAllEnvs());

  it("makes a snapshot once and keeps it under its key", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tessera-cache-"));
    vi.stubEnv("TESSERA_CACHE_DIR", join(directory, "new"));
    try {
      const make = vi.fn(async () => new Uint8Array([1, 2, 3]));
      expect([...(await cachedSnapshot("k", make))]).toEqual([1, 2, 3]);
      expect([...(await cachedSnapshot("k", make))]).toEqual([1, 2, 3]);
      expect(make).toHaveBeenCalledTimes(1);
      expect(readdirSync(join(directory, "new"))).toHaveLength(1);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("takes the snapshot that the build brought along, keeps it, and makes one of another key", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tessera-cache-"));
    vi.stubEnv("TESSERA_CACHE_DIR", join(directory, "cache"));
    const brought = pathToFileURL(`${directory}/`);
    try {
      const { name, content } = await compressedSnapshot("k", new Uint8Array([7, 8]));
      writeFileSync(join(directory, name), content);
      const make = vi.fn(async () => new Uint8Array([9]));
      expect([...(await cachedSnapshot("k", make, brought))]).toEqual([7, 8]);
      rmSync(join(directory, name));
      expect([...(await cachedSnapshot("k", make, brought))]).toEqual([7, 8]);
      expect(make).not.toHaveBeenCalled();
      expect([...(await cachedSnapshot("l", make, brought))]).toEqual([9]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("that cannot be written still gives the snapshot", async () => {
    vi.stubEnv("TESSERA_CACHE_DIR", existsSync("/proc") ? "/proc/tessera/cache" : "/dev/null/cache");
    expect([...(await cachedSnapshot("k", async () => new Uint8Array([4])))]).toEqual([4]);
  });

  it("refuses a key that is no file name", async () => {
    await expect(cachedSnapshot("../x", async () => new Uint8Array())).rejects.toThrow(/snapshot key/);
  });
});
