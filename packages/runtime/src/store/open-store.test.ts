import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pgliteVersion } from "@tessera/engines/pglite";
import { MIGRATIONS, SCHEMA_DIGEST, storeIdOf } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openStore, type StoreOptions } from "./open-store.ts";
import { verifyStore } from "./verify-store.ts";

const quiet = { onWarning: () => {}, onFatal: () => {} };
let directory = "";

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-runtime-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function failure(options: Partial<StoreOptions>): Promise<TesseraError> {
  const error = await openStore({ ...quiet, ...options }).then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!TesseraError.is(error)) throw new Error(`expected a TesseraError, got ${String(error)}`);
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

  it("has a ticket key and an id of its own, though it starts from the same snapshot as others", async () => {
    const keys = [];
    const ids = [];
    for (const name of ["a", "b"]) {
      const store = await openStore({ data: join(directory, name), ...quiet });
      keys.push((await store.database.query("select encode(inner_pad, 'hex') as pad from l0.ticket_keys"))[0]?.pad);
      ids.push(await storeIdOf(store.database));
      await store.close();
    }
    expect(ids[0]).toMatch(/^store_[0-9a-f]{32}$/);
    expect(ids[0]).not.toBe(ids[1]);
    expect(keys[0]).not.toBe(keys[1]);
  });

  it.each(["check", "no"] as const)("is not made by a process that only looks at it (migrate: %s)", async (migrate) => {
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
    for (const migrate of ["yes", "check"] as const) {
      expect((await failure({ data, migrate })).details.kind).toBe("unusable_directory");
    }
  });

  it("that cannot be looked at is not taken for a missing one", async () => {
    symlinkSync("loop", join(directory, "loop"));
    const error = await failure({ data: join(directory, "loop"), migrate: "check" });
    expect(error.details).toMatchObject({ kind: "unusable_directory", errno: "ELOOP" });
  });

  it("that is damaged is said to be, and left as it is", async () => {
    mkdirSync(join(directory, "store"));
    const error = await failure({ data: directory });
    expect(error.details.kind).toBe("damaged");
    expect(error.message).toContain("PG_VERSION is missing");
    expect(existsSync(join(directory, "store"))).toBe(true);
  });
});

it.each([
  ["written costs time", "file", []],
  ["read costs time and a warning", "directory", [expect.stringContaining("set TESSERA_CACHE_DIR")]],
])("a cache that cannot be %s, not the store", async (_, kind, expected) => {
  const warnings: string[] = [];
  const cache = join(directory, "cache");
  if (kind === "file") writeFileSync(cache, "");
  else
    mkdirSync(join(cache, `pglite-${pgliteVersion()}-schema-${SCHEMA_DIGEST.slice(0, 24)}.tar`), {
      recursive: true,
    });
  vi.stubEnv("TESSERA_CACHE_DIR", cache);
  try {
    await (await openStore({ ...quiet, onWarning: (warning) => warnings.push(warning) })).close();
  } finally {
    vi.unstubAllEnvs();
  }
  expect(warnings).toEqual(expected);
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
