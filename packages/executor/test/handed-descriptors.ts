// A host that was started with an open directory on some descriptor: prints what the programs that it starts see of it.
//
// Arguments: the workdir, the modes of the shell, and the descriptor.

import { once } from "node:events";
import { systemClock } from "@tessera/engines/system";
import { spawnChild } from "../src/placements/isolated/spawn-child.ts";
import type { ShellStatus } from "../src/shell/probe.ts";
import { startBench } from "./builtin-bench.ts";

const [workdir = "", fd = "", ...modes] = process.argv.slice(2);
const look = `cat /proc/self/fd/${fd}/secret; echo x > /proc/self/fd/${fd}/made; ls -l /proc/self/fd`;

for (const kind of modes as ShellStatus["kind"][]) {
  const shell = { status: { kind, reason: "" } };
  const bench = startBench({ clock: systemClock, shell, context: { workdir } });
  const { stdout, exitCode } = await bench.output("bash__exec", { command: look });
  process.stdout.write(`${JSON.stringify({ mode: kind, stdout, exitCode })}\n`);
}
const child = spawnChild("/bin/sh", ["-c", look], { stdio: ["ignore", "pipe", "ignore"] });
let stdout = "";
child.stdout?.on("data", (chunk) => {
  stdout += String(chunk);
});
await once(child, "close");
process.stdout.write(`${JSON.stringify({ mode: "child", stdout })}\n`);
