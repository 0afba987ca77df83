// npm run bench: Tessera and its floors side by side, interleaved, on servers of their own.
//
// Only ratios within one run mean something: disks, virtual machines and neighbours change the rest.

import { readCommandLine, runSuite, USAGE } from "./run-suite.ts";
import { Servers } from "./servers.ts";
import { TARGETS } from "./targets.ts";
import { WORKS } from "./works.ts";

const flags = readCommandLine(WORKS);
if (flags.help) {
  const works = WORKS.map(({ name, what }) => `  ${name.padEnd(22)}${what}`).join("\n");
  process.stdout.write(`npm run bench -- [options]\n\n${USAGE}\nworks:\n${works}\n`);
} else {
  await runSuite({ name: "bench", works: WORKS, targets: TARGETS, servers: new Servers() }, flags);
}
