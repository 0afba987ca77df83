// Looks for a secret in everything a run left behind, in every way it may be written.

import type { Database } from "@tessera/kernel/ports";

/** Written here once more, apart from the product's own list, so that a form that both forget is the only one missed. */
function writtenForms(secret: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(secret, "utf8");
  const forms = new Map<string, string>([
    ["raw", secret],
    ["URL-encoded", encodeURIComponent(secret)],
    ["URL-encoded in lower case", encodeURIComponent(secret).replace(/%../g, (code) => code.toLowerCase())],
    ["hex", bytes.toString("hex")],
    ["hex in capitals", bytes.toString("hex").toUpperCase()],
  ]);
  for (const before of [0, 1, 2]) {
    // The characters that depend on the secret alone, wherever it stands in a longer text.
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString("base64");
    const core = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    forms.set(`base64 at offset ${before}`, core);
    forms.set(`base64url at offset ${before}`, core.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return forms;
}

/** `place: form` for each form that was found. */
export function hitsIn(places: Readonly<Record<string, string>>, secrets: readonly string[]): string[] {
  return Object.entries(places).flatMap(([place, text]) =>
    secrets.flatMap((secret) =>
      [...writtenForms(secret)].filter(([, form]) => text.includes(form)).map(([name]) => `${place}: ${name}`),
    ),
  );
}

/** Every row of every table, each column as text. */
export async function dumpOf(database: Database): Promise<Record<string, string>> {
  const tables = await database.query<{ place: string; name: string }>(
    `select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as place, c.relname as name
       from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'm') and n.nspname !~ '^(pg_|information_schema)'`,
  );
  const dump: Record<string, string> = {};
  for (const { place } of tables) {
    const columns = await database.query<{ name: string }>(
      `select quote_ident(attname) as name from pg_attribute
        where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
      [place],
    );
    const texts = columns.map(({ name }) => `coalesce(${name}::text, '')`).join(" || E'\\n' || ");
    const rows = await database.query<{ row: string }>(`select ${texts} as row from ${place}`);
    dump[place] = rows.map(({ row }) => row).join("\n");
  }
  return dump;
}
