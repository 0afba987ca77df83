// Where a store is: exactly one of a directory, a PostgreSQL database, or memory.
//
//   P1. A place's `name` is for people and logs. It never holds a user name, a password or URL parameters.
//   P2. A URL is no directory: it would make one that is named after a password.

import { resolve } from "node:path";
import { BadRequest } from "@tessera/protocol";

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;

/** Where a store is, for people. */
export type StorePlace =
  | { readonly kind: "memory"; readonly name: string }
  | { readonly kind: "directory"; readonly name: string; readonly directory: string }
  | { readonly kind: "postgres"; readonly name: string; readonly url: string };

export function storePlace(wanted: {
  readonly data?: string | undefined;
  readonly postgres?: string | undefined;
}): StorePlace {
  const { data, postgres } = wanted;
  if (data !== undefined && postgres !== undefined) {
    throw new BadRequest(
      "cannot open a store: both a data directory and a PostgreSQL URL were given; give one of them",
    );
  }
  if (postgres !== undefined) return { kind: "postgres", name: describePostgres(postgres), url: postgres };
  if (data === undefined) return { kind: "memory", name: "in memory" };
  if (data === "" || data.includes("\0"))
    throw new BadRequest("cannot open a store: the data directory has no usable name");
  if (URL_START.test(data)) throw new BadRequest("cannot open a store in a directory: that is a URL; use --postgres"); // P2
  const directory = resolve(data);
  return { kind: "directory", name: directory, directory };
}

/** P1. Refuses what is no PostgreSQL URL, without repeating it: it may hold a password all the same. */
export function describePostgres(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== "postgres:" && parsed.protocol !== "postgresql:")) {
    throw new BadRequest(
      "cannot open a store: the PostgreSQL URL is not one; it should look like postgres://user@host:5432/database",
    );
  }
  const host = parsed.host || parsed.searchParams.get("host") || "localhost";
  return `PostgreSQL at ${host}${parsed.pathname === "/" ? "" : parsed.pathname}`;
}
