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

## In a program

What Tessera throws on purpose is a \`TesseraError\`. \`@tessera/tessera\`, \`@tessera/tool\` and \`@tessera/client\` export it, and the type
\`ErrorCode\` of its codes, so that a mistyped one does not compile. \`TesseraError.is(error)\` also knows an error of another installed
copy of a package; so does \`error instanceof TesseraError\`.

\`\`\`ts
import { createTessera, TesseraError } from "@tessera/tessera";

const tessera = await createTessera({ bundle: "./my-swarm" });
try {
  const turn = await tessera.run({ agent: "planner", input: "Porto" });
  if (turn.status !== "success") console.error(turn.error?.code, turn.error?.message);
} catch (error) {
  if (!TesseraError.is(error)) throw error;
  if (error.code === "agent_not_found") console.error(error.message);
  else if (error.retry !== "never") console.error("not now:", error.message);
  else throw error;
}
\`\`\`

| Field | |
| --- | --- |
| \`code\` | one of the codes below |
| \`message\` | what was tried, on what, and what was found; it may be shown to people, and holds no secret |
| \`details\` | for programs, by name: the field at fault, the mistakes of a document; \`{}\` where there is nothing to add |
| \`retry\`, \`http\` | what the table below says of the code |

How a turn or a call ended is no exception: it is in the answer (\`status\`, \`error\`). What a method of \`@tessera/client\` throws is an
\`ApiError\`, a \`TesseraError\` that also has the \`status\` of the answer (0: none came), its \`requestId\` and \`retryAfterMs\`. A tool that
fails on purpose throws a \`ToolError\`, which is for the model and has codes of its own.

## Codes

**Retry**: \`never\` means that repeating the same request cannot help. \`same-call\` means that the identical request may
be repeated at once. \`later\` means to wait and then repeat.

| Code | Class | HTTP | Retry | Meaning | What to do |
| --- | --- | --- | --- | --- | --- |
${rows.join("\n")}
`;
}
