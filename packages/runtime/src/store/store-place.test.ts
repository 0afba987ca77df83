import { TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { describePostgres, storePlace } from "./store-place.ts";

describe("the place of a store", () => {
  it("is memory when nothing is given", () => {
    expect(storePlace({}).kind).toBe("memory");
  });

  it("is a directory by its full path", () => {
    expect(storePlace({ data: "." })).toMatchObject({ kind: "directory", directory: process.cwd() });
  });

  it("is one place, not two", () => {
    expect(() => storePlace({ data: "x", postgres: "postgres://h/d" })).toThrow(/both .* give one of them/);
  });

  it.each([[""], ["a\0b"]])("is refused when the directory is %j", (data) => {
    expect(() => storePlace({ data })).toThrow(/no usable name/);
  });

  it.each([["postgres://u:secret@h/d"], ["PostgreSQL://u:secret@h/d"], ["file:///secret"]])(
    "is no directory when it is a URL, which is not repeated: %s",
    (data) => {
      expect(() => storePlace({ data })).toThrow(/that is a URL; use --postgres$/);
    },
  );
});

describe("the name of a PostgreSQL store", () => {
  it.each([
    ["postgres://me:secret@db.example:5433/app?sslmode=require&password=secret", "PostgreSQL at db.example:5433/app"],
    ["postgresql://localhost", "PostgreSQL at localhost"],
    ["postgres:///app?host=/var/run/postgresql", "PostgreSQL at /var/run/postgresql/app"],
  ])("says where it is and no secret: %s", (url, name) => {
    expect(describePostgres(url)).toBe(name);
  });

  it.each([["mysql://me:secret@host/x"], ["me:secret@host"], [""], ["postgres//me:secret@host"]])(
    "is refused without repeating it: %s",
    (url) => {
      expect.assertions(2);
      try {
        describePostgres(url);
      } catch (error) {
        expect(TesseraError.is(error) && error.code).toBe("bad_request");
        expect(String(error)).not.toContain("secret");
      }
    },
  );
});
