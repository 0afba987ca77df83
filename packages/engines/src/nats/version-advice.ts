// What there is to say about the version of a NATS server, in one place.
//
//   A1. A warning names the hole that is open; it is for everybody who works with the server for longer than a command.
//   A2. A version that is sound and not the recommended one is a note, shown on request (`tessera doctor`).

export interface VersionAdvice {
  readonly kind: "warning" | "note";
  /** Follows the name of the server. */
  readonly says: string;
  readonly todo: string;
}

type Version = readonly [number, number, number];
/** CVE-2025-30215 is fixed there, and on the older line in FIXED_OLDER. */
const FIXED: Version = [2, 11, 1];
const FIXED_OLDER: Version = [2, 10, 27];
const RECOMMENDED: Version = [2, 12, 3];

/** Null: nothing to say. */
export function natsVersionAdvice(version: string): VersionAdvice | null {
  const todo = `use ${RECOMMENDED.join(".")} or newer`;
  if (!isFixed(version)) {
    return { kind: "warning", says: "has CVE-2025-30215: one account may purge the streams of others", todo }; // A1
  }
  if (isAtLeast(version, RECOMMENDED)) return null;
  return { kind: "note", says: "works", todo: `for production, ${todo}` }; // A2
}

function isFixed(version: string): boolean {
  const [major, minor] = partsOf(version);
  const isOlderLine = major === FIXED_OLDER[0] && minor === FIXED_OLDER[1];
  return isAtLeast(version, isOlderLine ? FIXED_OLDER : FIXED);
}

function isAtLeast(version: string, least: Version): boolean {
  const parts = partsOf(version);
  for (const [index, part] of least.entries()) {
    const own = parts[index] ?? 0;
    if (own !== part) return own > part;
  }
  return true;
}

function partsOf(version: string): number[] {
  return version.split(/[.-]/).map((part) => Number.parseInt(part, 10) || 0);
}
