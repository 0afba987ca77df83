import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MIGRATIONS } from "@tessera/kernel";
import { CGError } from "@tessera/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore, type StoreOptions } from "./open-store.ts";
import { verifyStore } from "./verify-store.ts";

const quiet = { onWarning: () => {}, onFatal: () => {} };
let directory = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-runtime-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function failure(options: Partial<StoreOptions>): Promise<CGError> {
  const error = await openStore({ ...quiet, ...options }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!CGError.is(error)) throw new Error(`expected a CGError, got ${String(error)}`);
  return error;
}

describe("a store in a directory", () => {
  it("is made, migrated and clean, and says what opening it applied", async () => {
    const data = join(directory, "new", "store");
    const store = await openStore({ data, ...quiet });
    expect(store.kind).toBe("directory");
    expect(store.migrated?.applied).toEqual(MIGRATIONS.map((migration) => migration.name));
    expect((await verifyStore(store, { drained: true })).violations).toEqual([]);
    await store.close();

    const again = await openStore({ data, migrate: "check", ...quiet });
    expect(again.migrated).toBeNull();
    await again.close();
  });

  it("has a ticket key of its own, though it starts from the same snapshot as others", async () => {
    const keys = [];
    for (const name of ["a", "b"]) {
      const store = await openStore({ data: join(directory, name), ...quiet });
      keys.push((await store.database.query("select encode(inner_pad, 'hex') as pad from l0.ticket_keys"))[0]?.pad);
      await store.close();
    }
    expect(keys[0]).not.toBe(keys[1]);
  });

  it.each(["check", "no"] as const)("is not made by whoever only looks at it (migrate: %s)", async (migrate) => {
    const data = join(directory, "nothing");
    expect((await failure({ data, migrate })).details.kind).toBe("missing");
    expect(existsSync(data)).toBe(false);
  });

  it("is refused while another holder has it, and free again after that one closes", async () => {
    const data = join(directory, "held");
    const store = await openStore({ data, ...quiet });
    const error = await failure({ data });
    expect(error.code).toBe("store_in_use");
    expect(error.message).toContain(`process ${process.pid}`);
    await store.close();
    await (await openStore({ data, ...quiet })).close();
  });

  it("cannot be a file", async () => {
    const data = join(directory, "file");
    writeFileSync(data, "");
    expect((await failure({ data })).details.kind).toBe("unusable_directory");
  });
});

it("a cache that cannot be written costs time and a warning, not the store", async () => {
  const warnings: string[] = [];
  writeFileSync(join(directory, "no-directory"), "");
  process.env.TESSERA_CACHE_DIR = join(directory, "no-directory", "cache");
  try {
    await (await openStore({ ...quiet, onWarning: (warning) => warnings.push(warning) })).close();
  } finally {
    delete process.env.TESSERA_CACHE_DIR;
  }
  expect(warnings).toEqual([expect.stringContaining("set TESSERA_CACHE_DIR")]);
});

it("a store in memory is migrated, too", async () => {
  const store = await openStore(quiet);
  expect(store.kind).toBe("memory");
  expect((await verifyStore(store)).violations).toEqual([]);
  await store.close();
});

it("a database that is down is told with its address and without the password", async () => {
  const error = await failure({ postgres: "postgres://me:secret@127.0.0.1:1/app" });
  expect(error.details.kind).toBe("unavailable");
  expect(error.message).toContain("PostgreSQL at 127.0.0.1:1/app");
  expect(error.message).not.toContain("secret");
});
