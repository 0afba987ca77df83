import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unpackSnapshot } from "./unpack-snapshot.ts";

/** One entry of a ustar file, as its format says it. */
function entry(name: string, content: string, { type = "0", prefix = "" } = {}): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000600\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\0", 257);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const body = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  body.write(content);
  return Buffer.concat([header, body]);
}

function tarOf(...entries: readonly Buffer[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([...entries, Buffer.alloc(1024)]));
}

describe("a snapshot that is unpacked", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "tessera-unpack-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it("has its files and its empty directories, for their owner only", async () => {
    const long = "x".repeat(600);
    const store = join(root, "store");
    const tar = tarOf(
      entry("/base", "", { type: "5" }),
      entry("/base/1249", long),
      entry("/pg_notify", "", { type: "5" }),
      entry("/empty", ""),
      entry("deep", "d", { prefix: "/a/b" }),
    );
    await unpackSnapshot(tar, store);
    expect(readdirSync(store).sort()).toEqual(["a", "base", "empty", "pg_notify"]);
    expect(readFileSync(join(store, "base/1249"), "utf8")).toBe(long);
    expect(readFileSync(join(store, "empty"), "utf8")).toBe("");
    expect(readFileSync(join(store, "a/b/deep"), "utf8")).toBe("d");
    expect(statSync(store).mode & 0o777).toBe(0o700);
    expect(statSync(join(store, "base/1249")).mode & 0o777).toBe(0o600);
  });

  it("is refused where a byte of a header is another, or the end is missing", async () => {
    const whole = tarOf(entry("/PG_VERSION", "18\n"), entry("/base/1", "y".repeat(700)));
    const changed = whole.slice();
    changed[1] = 0x51;
    await expect(unpackSnapshot(changed, join(root, "changed"))).rejects.toThrow(/damaged at byte 0/);
    await expect(unpackSnapshot(whole.slice(0, 1_700), join(root, "short"))).rejects.toThrow(/damaged at byte 1024/);
    await expect(unpackSnapshot(whole.slice(0, 1_100), join(root, "cut"))).rejects.toThrow(/damaged at byte 1024/);
  });

  it("is refused where it holds a link, or a name that leaves the directory", async () => {
    await expect(unpackSnapshot(tarOf(entry("/l", "", { type: "2" })), join(root, "link"))).rejects.toThrow(/damaged/);
    await expect(unpackSnapshot(tarOf(entry("/../out", "z")), join(root, "out"))).rejects.toThrow(/the name/);
    expect(readdirSync(root)).toEqual([]);
  });
});
