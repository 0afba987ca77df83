// docs/reference/security.md: the rows of bad input with the tests that show them, and the matrices of rights.

import { MAY_PUBLISH, NEVER_HEARD, NEVER_PUBLISHED } from "../../tests/scale/nats-rights.ts";
import { DATABASE_ROLES, FUNCTIONS, TABLES } from "../../tests/security/database-rights.ts";
import { BOUNDARIES, conditionOf, FILES, type Row } from "../../tests/security/rows/index.ts";
import { NOT_BUILT, THREATS } from "../../tests/security/threats.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";

export const securityReference: Generator = {
  name: "security reference",
  files: () => new Map([["docs/reference/security.md", securityPage()]]),
};

const link = (file: string) => `[${code(file)}](../../${file})`;

function securityPage(): string {
  const files = Object.values(FILES).toSorted();
  const words = BOUNDARIES.flatMap(({ rows }) => rows.flatMap(({ shown }) => shown.flatMap(([, , ...says]) => says)));
  return `${NOTICE}

# Security

What is tried against Tessera in its tests, and what comes of it. Every line names the test that would go red; a test of its own
(${link("tests/security/rows.test.ts")}) holds that each of them exists, is run
(everywhere, or where the line says), and has the line's input and answer in its text; that it sends the one and expects the
other is for its reader to see. Who trusts whom, and why, is in
[ARCHITECTURE.md](../../ARCHITECTURE.md#trust).

- [Threats](#threats)
- [Bad input, row by row](#bad-input-row-by-row)
- [Rights in the database](#rights-in-the-database)
- [Rights on the bus](#rights-on-the-bus)
- [Not built](#not-built)

## Threats

${table(
  ["Threat", "What holds", "Tested in"],
  THREATS.map(({ threat, holds, tests }) => [threat, holds, tests.map(link).join(", ")]),
)}

## Bad input, row by row

What is refused is answered with one structured error, without stack, SQL or secret, and changes no row of the store but audit and dead
letters: the tables of tests behind N, H, Y, C and R compare the whole store around each input, and those of N, H, Y and R also bound
what the answer costs to a second of CPU time. The process stays up: the next input comes to the same one. ${BOUNDARIES.flatMap(({ rows }) => rows).length} rows;
${words.length} pieces of text (inputs, codes, limits) are looked for in their tests.

${BOUNDARIES.map(({ letter, name, rows }) => `### ${letter}: ${name}\n\n${table(["Row", "Input", "Answer", "Shown by"], rows.map(cellsOf))}`).join("\n\n")}

Files: ${files.map(link).join(", ")}.

## Rights in the database

What the five roles of [deploy/roles.sql](../../deploy/roles.sql) may do: **s**elect, **i**nsert, **u**pdate, **d**elete. Every cell is tried
on a real PostgreSQL by that role's own login (${link("tests/security/database-roles.test.ts")}), the lists of tables and functions coming
from its catalog. In embedded mode there is one session and no separation of roles.

${table(
  ["Table or view", ...DATABASE_ROLES],
  Object.entries(TABLES).map(([name, cells]) => [code(name), ...DATABASE_ROLES.map((role) => code(cells[role]))]),
)}

${table(
  ["Functions of l0", ...DATABASE_ROLES],
  FUNCTIONS.map(({ what, roles, names }) => [
    `${what} ${names.map(code).join(" ")}`,
    ...DATABASE_ROLES.map((role) => (roles.includes(role) ? "yes" : "")),
  ]),
)}

## Rights on the bus

What each user of [deploy/nats.conf](../../deploy/nats.conf) may publish. All of it, and all that is another's, is tried by each of them on a real
server (${link("tests/scale/nats-permissions.test.ts")}). Each hears its own inbox and nothing else.

${table(
  ["User", "May publish"],
  Object.entries(MAY_PUBLISH).map(([user, subjects]) => [user, subjects.map(code).join(" ")]),
)}

No user may publish ${NEVER_PUBLISHED.map(code).join(", ")}; no user may subscribe to ${NEVER_HEARD.map(code).join(", ")}. A client with no name,
a wrong password or the name of the server's own account is not let in.

## Not built

The design decides what there is; these were considered and are not there.

${NOT_BUILT.map(({ what, why }) => `- **${what}** ${why}`).join("\n")}
`;
}

/** Titles of one file together, in the order of the row. Comments and other pages name a row by its id (`security.md#h13`). */
function cellsOf({ id, input, answer, shown }: Row): string[] {
  const byFile = new Map<string, string[]>();
  for (const [file, title] of shown) {
    const runs = conditionOf(file, title);
    const text = `${quoted(title)}${runs === null ? "" : ` (${runs})`}`;
    byFile.set(FILES[file], [...(byFile.get(FILES[file]) ?? []), text]);
  }
  const tests = [...byFile].map(([file, titles]) => `${code(file.split("/").at(-1) ?? file)}: ${titles.join("; ")}`);
  return [`<a id="${id.toLowerCase()}"></a>${id}`, input, answer, tests.join(" · ")];
}

/** A title is text, whatever Markdown would make of it. */
function quoted(title: string): string {
  return title.includes("`") ? title.replaceAll("`", "'") : code(title);
}
