// A running API, looked at from outside: is it there, is it a Tessera, does it know the key.

import { type Check, checksOf, saidBy } from "./check.ts";

const api = checksOf("api");
const ANSWER_MS_MAX = 3_000;
const STATUSES: readonly unknown[] = ["ok", "degraded", "unready"];

export type ApiLook =
  | { readonly kind: "tessera"; readonly status: string; readonly says: readonly string[] }
  | { readonly kind: "other"; readonly says: string }
  | { readonly kind: "silent"; readonly says: string };

/** GET /health, which needs no key. */
export async function lookAtApi(url: string): Promise<ApiLook> {
  try {
    const answer = await fetch(addressOf(url, "health"), { signal: AbortSignal.timeout(ANSWER_MS_MAX) });
    const body: unknown = await answer.json().catch(() => null);
    const { status, checks } = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
    if (!STATUSES.includes(status))
      return { kind: "other", says: `it answered ${answer.status} and no health of a Tessera` };
    const list = Array.isArray(checks) ? (checks as { readonly status?: unknown; readonly says?: unknown }[]) : [];
    return {
      kind: "tessera",
      status: String(status),
      says: list.filter((check) => check.status !== "ok").map((check) => String(check.says)),
    };
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    return { kind: "silent", says: cause?.code ?? saidBy(error) };
  }
}

export async function checkServer(url: string, key: string | undefined, project: string): Promise<Check[]> {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return [api.wrong("url", "the address is no http or https URL", "Give --url http://host:8099.")];
  }
  const { origin } = new URL(url); // a user and a password may stand in the rest
  const look = await lookAtApi(url);
  if (look.kind === "silent") {
    const fix = "Check the address, and that `tessera start` or `tessera dev` runs there.";
    return [api.unreachable("url", `nothing answers at ${origin}: ${look.says}`, fix)];
  }
  if (look.kind === "other") {
    return [
      api.wrong("url", `${origin} is no Tessera: ${look.says}`, "Give the address that `tessera start` printed."),
    ];
  }
  const why = look.says.length === 0 ? "" : `: ${look.says.join("; ")}`;
  const health = `a Tessera at ${origin} says ${look.status}${why}`;
  const told =
    look.status === "ok"
      ? api.ok("url", health)
      : api.warn("url", health, "Look at its log, and run doctor where it runs with the same store.");
  return [told, await checkKey(url, key, project)];
}

async function checkKey(url: string, key: string | undefined, project: string): Promise<Check> {
  if (!key) return api.warn("key", "no key was given", "Set TESSERA_API_KEY to a key of this server.");
  try {
    const answer = await fetch(addressOf(url, `projects/${encodeURIComponent(project)}/turns?limit=1`), {
      headers: { Authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    await answer.body?.cancel();
    if (answer.ok || answer.status === 404) return api.ok("key", `the key may read project ${project}`);
    const fix = "Give a key of this server: `tessera keys create`, or the one that `tessera dev` printed.";
    if (answer.status === 401) return api.wrong("key", "the server does not know the key", fix);
    if (answer.status === 403) return api.warn("key", `the key may not read project ${project}`, fix);
    // Such as without its database: that says nothing about the key.
    const found = `the key could not be tried: the server answered ${answer.status}`;
    return api.unreachable("key", found, "Look at its log, and repeat when it is well again.");
  } catch (error) {
    return api.unreachable("key", `the server did not answer: ${saidBy(error)}`, "Repeat.");
  }
}

/** An API may lie behind a path of a proxy: `https://host/tessera`. */
function addressOf(url: string, path: string): URL {
  const base = new URL(url);
  return new URL(`${base.origin}${base.pathname.replace(/\/*$/, "/")}${path}`);
}
