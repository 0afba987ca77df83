// docs/reference/errors.md: the error catalogue.

import { ERROR_CATALOGUE } from "@tessera/protocol";
import { cell, type Generator, NOTICE } from "./generator.ts";

export const errorReference: Generator = {
  name: "error reference",
  files: () => new Map([["docs/reference/errors.md", errorsPage()]]),
};

function errorsPage(): string {
  const rows = Object.entries(ERROR_CATALOGUE).map(
    ([code, entry]) =>
      `| \`${code}\` | ${entry.class} | ${entry.http} | ${entry.retry} | ${cell(entry.meaning)} | ${cell(entry.todo)} |`,
  );
  return `${NOTICE}

# Error codes

Every error of Tessera has one of these codes: in a tool result (\`error.code\`), in an answer of the kernel, and in an HTTP
problem (\`error_code\`). Codes never change their meaning; readers treat the list as open.

**Retry**: \`never\` means that repeating the same request cannot help. \`same-call\` means that the identical request may
be repeated at once. \`later\` means to wait and then repeat.

| Code | Class | HTTP | Retry | Meaning | What to do |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}
