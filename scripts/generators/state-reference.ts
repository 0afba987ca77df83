// docs/reference/states.md: the state machines, as tables and as pictures.

import { STATE_MACHINES, type StateMachine, terminalStates } from "@tessera/protocol";
import { type Generator, NOTICE } from "./generator.ts";

export const stateReference: Generator = {
  name: "state reference",
  files: () => new Map([["docs/reference/states.md", statesPage()]]),
};

function statesPage(): string {
  return `${NOTICE}

# States and legal moves

A state changes only by one of these moves, and every move is a compare-and-set: where the row is in another state, nothing
changes and the process that tried stops.

${STATE_MACHINES.map(stateSection).join("\n")}`;
}

function stateSection(machine: StateMachine): string {
  const ends = terminalStates(machine);
  const moves = Object.entries(machine.moves);
  return `## ${machine.title} (\`${machine.noun}\`)

| Move | From | To |
| --- | --- | --- |
${moves.map(([name, { from, to }]) => `| \`${name}\` | ${from.map((state) => `\`${state}\``).join(", ")} | \`${to}\` |`).join("\n")}

\`\`\`mermaid
stateDiagram-v2
  [*] --> ${machine.initial}
${moves.flatMap(([name, { from, to }]) => from.map((state) => `  ${state} --> ${to}: ${name}`)).join("\n")}
${ends.map((state) => `  ${state} --> [*]\n`).join("")}\`\`\`
`;
}
