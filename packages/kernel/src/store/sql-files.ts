// The kernel's SQL, read from its .sql files once per process. No SQL text is written anywhere else.
//
//   Q1. A query has a name (`-- name: x`) and is looked up by it; nothing is assembled and no value is spliced in.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";

export interface SqlFile {
  readonly name: string;
  readonly text: string;
}

const sqlRoot = new URL("../../sql/", import.meta.url);

export function readSqlFolder(folder: string): SqlFile[] {
  const directory = new URL(`${folder}/`, sqlRoot);
  return readdirSync(directory)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ name, text: readFileSync(new URL(name, directory), "utf8") }));
}

export function readSqlFile(name: string): string {
  return readFileSync(new URL(name, sqlRoot), "utf8");
}

export function sha256Hex(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** One named part of a file: its comment lines, the attributes in them (`-- key: value`) and its statement. */
export interface NamedQuery {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
}

export function parseNamedQueries(file: SqlFile): NamedQuery[] {
  const queries: NamedQuery[] = [];
  for (const part of file.text.split(/^(?=-- name: )/m).slice(1)) {
    const attributes: Record<string, string> = {};
    const statement: string[] = [];
    for (const line of part.split("\n")) {
      const attribute = /^-- ([a-z]+): (.+)$/.exec(line);
      if (attribute?.[1] !== undefined && attribute[2] !== undefined) attributes[attribute[1]] = attribute[2].trim();
      else if (!line.startsWith("--") && line.trim() !== "") statement.push(line);
    }
    const name = attributes.name;
    if (name === undefined) throw new Error(`${file.name}: a query without a name`);
    queries.push({ name, attributes, text: statement.join("\n").replace(/;\s*$/, "") });
  }
  return queries;
}

const queries: ReadonlyMap<string, string> = new Map(
  readSqlFolder("queries")
    .flatMap(parseNamedQueries)
    .map((query) => [query.name, query.text]),
);

export function sqlQuery(name: string): string {
  const text = queries.get(name);
  if (text === undefined) throw new Error(`no query named ${name} in packages/kernel/sql/queries`);
  return text;
}
