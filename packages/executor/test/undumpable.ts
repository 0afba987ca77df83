// A host without root's rights that watches a process which may not be looked at: prints what it finds too much of.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { watchTotals } from "../src/shell/watch.ts";

const SYS_PRCTL = process.arch === "arm64" ? 167 : 157;
const PR_SET_DUMPABLE = 4;
const generous = { totalMemoryBytes: 1024 ** 4, totalWrittenBytes: 1024 ** 4, processes: 1_000 };

// The second has a child that has ended and is not waited for, which belongs to root too.
for (const call of [
  "",
  "if (!fork) { exit } select(undef, undef, undef, 0.2);",
  `syscall(${SYS_PRCTL}, ${PR_SET_DUMPABLE}, 0);`,
]) {
  const script = `${call} syswrite(STDOUT, "ready"); sleep 1000043`;
  const child = spawn("/usr/bin/perl", ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  if (child.stdout === null) throw new Error("no pipe");
  await once(child.stdout, "data");
  const found = await watchTotals(generous, { isConfined: false }).exceeded(child.pid ?? 0);
  process.stdout.write(`${found}\n`);
  child.kill("SIGKILL");
}
