// What a command's processes have together, and what they are handed: bounds on the whole, in the sandbox and out of it.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@tessera/engines/system";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { startBench } from "../../test/builtin-bench.ts";
import { makeControlGroup } from "./control-group.ts";
import { probeShell } from "./probe.ts";
import { SHELL_LIMITS_DEFAULT, type ShellLimits } from "./sandbox.ts";
import { systemCallFilter } from "./system-call-filter.ts";
import { type TotalLimits, watchTotals } from "./watch.ts";

const MIB = 1024 ** 2;
const status = await probeShell({ allowUnconfinedShell: true }, systemClock);
const MODES = status.kind === "confined" ? (["unconfined", "confined"] as const) : (["unconfined"] as const);
const isLinux = process.platform === "linux";
const UNDUMPABLE = fileURLToPath(new URL("../../test/undumpable.ts", import.meta.url));
const HANDED = fileURLToPath(new URL("../../test/handed-descriptors.ts", import.meta.url));

/** On a disk: a file system in memory counts no written bytes, and /tmp may be one. */
const base = join(import.meta.dirname, "../../../../node_modules/.cache/shell-totals");
let directory: string;
beforeEach(() => {
  mkdirSync(base, { recursive: true });
  directory = mkdtempSync(join(base, "t-"));
  mkdirSync(join(directory, "workdir"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const bench = (kind: "confined" | "unconfined", limits: Partial<ShellLimits>) =>
  startBench({
    clock: systemClock,
    shell: { status: { kind, reason: "" }, limits },
    context: { workdir: join(directory, "workdir") },
  });

/** So many children one after the other, each of which writes a file and lives until it was looked at. */
const writers = (count: number, mib: number, setup: string, after: string) =>
  `perl -e '${setup} $b = "x" x ${MIB}; $| = 1; for my $n (1..${count}) { if (!fork) { open(F, ">", "w$n"); ` +
  `syswrite(F, $b) for 1..${mib}; close(F); select(undef, undef, undef, 0.3); exit } ${after} } sleep 1; print "all"'`;

/** Three shells that hold so much each, for as long as they may. */
const hold = (mib: number) =>
  `for i in 1 2 3; do (x=$(head -c ${mib * MIB} /dev/zero | tr '\\0' x); echo held; sleep 1000041; :) & done; wait`;

describe.runIf(isLinux).each(MODES)("a command, %s,", (mode) => {
  it("is ended when its processes have too much memory together, though none has alone", async () => {
    const limits = { memoryBytes: 400 * MIB, totalMemoryBytes: 150 * MIB };
    const result = await bench(mode, limits).output("bash__exec", { command: hold(80), timeoutMs: 60_000 });
    expect(result).toMatchObject({ timedOut: false, limitExceeded: "memory" });
    const list = () => execFileSync("ps", ["axww", "-o", "args"], { encoding: "utf8" });
    await waitFor(() => !list().includes("sleep 1000041"), { what: "its processes to be dead" });
  }, 60_000);

  it("is ended when it has written too much, though every file is small", async () => {
    const command = "i=0; while :; do i=$((i + 1)); head -c 1000000 /dev/zero > f$i; done";
    const limits = { fileBytes: 2_000_000, totalWrittenBytes: 20 * MIB };
    const result = await bench(mode, limits).output("bash__exec", { command, timeoutMs: 60_000 });
    expect(result).toMatchObject({ timedOut: false, limitExceeded: "disk" });
    expect(existsSync(join(directory, "workdir", "f1"))).toBe(true);
  }, 60_000);

  it("is ended when children that it ignores have written too much, one after the other", async () => {
    const command = writers(40, 4, '$SIG{CHLD} = "IGNORE";', "select(undef, undef, undef, 0.35);");
    const limits = { totalWrittenBytes: 30 * MIB };
    const result = await bench(mode, limits).output("bash__exec", { command, timeoutMs: 60_000 });
    expect(result).toMatchObject({ timedOut: false, limitExceeded: "disk" });
    expect(existsSync(join(directory, "workdir", "w40"))).toBe(false);
  }, 60_000);

  it("is not ended when children that it waits for, and their parents, have written less than the limit", async () => {
    // Counted at every level, it would be three times as much.
    const command = `sh -c 'sh -c "$SCRIPT"; sh -c "$SCRIPT"; sleep 0.5'; sleep 0.5`;
    const env = { SCRIPT: `${writers(5, 4, "", "wait;")}; :` };
    const limits = { totalWrittenBytes: 60 * MIB };
    const result = await bench(mode, limits).output("bash__exec", { command, env, timeoutMs: 60_000 });
    expect(result).toMatchObject({ limitExceeded: null, exitCode: 0, stdout: "allall" });
  }, 60_000);

  it("is not ended for thousands of short children that write little", async () => {
    const command = "for i in $(seq 2000); do /bin/echo $i > s$i; done; echo all";
    const limits = { totalWrittenBytes: 40 * MIB };
    const result = await bench(mode, limits).output("bash__exec", { command, timeoutMs: 60_000 });
    expect(result).toMatchObject({ limitExceeded: null, exitCode: 0, stdout: "all\n" });
  }, 60_000);

  it("does not have the descriptors that this process was handed", async () => {
    writeFileSync(join(directory, "secret"), "the secret");
    const fd = openSync(directory, "r");
    const at = 99; // Node itself closes low ones in children
    const stdio = Array.from({ length: at + 1 }, (_, index) => (index === at ? fd : "ignore")) as ("ignore" | number)[];
    const child = spawn(process.execPath, [HANDED, join(directory, "workdir"), String(at), mode], {
      stdio: ["ignore", "pipe", "inherit", ...stdio.slice(3)],
    });
    closeSync(fd);
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += String(chunk);
    });
    await once(child, "close");
    const seen = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { mode: string; stdout: string });
    expect(seen.map((each) => each.mode)).toEqual([mode, "child"]);
    for (const { stdout } of seen) {
      expect(stdout).not.toContain("the secret");
      expect(stdout).not.toContain(`-> ${directory}\n`);
      expect(stdout).toMatch(/ 99 -> \/dev\/null/); // proves that it was handed one
    }
    expect(existsSync(join(directory, "made"))).toBe(false);
  }, 60_000);
});

describe.runIf(status.kind === "confined")("a confined command", () => {
  const ask = async (command: string) => String((await bench("confined", {}).output("bash__exec", { command })).stdout);

  it("cannot make a user namespace, in which it could mount what no limit counts", async () => {
    expect(execFileSync("unshare", ["--user", "echo", "outside"], { encoding: "utf8" })).toBe("outside\n");
    expect(await ask("unshare --user echo inside; unshare --user --map-root-user echo inside; echo end")).toBe("end\n");
  });

  it("has no io_uring, whose work passes no filter", async () => {
    const call = (number: number) =>
      `$! = 0; syscall(${number}, 0, 0, 0, 0, 0, 0); print $!{ENOSYS} ? "none " : "has ";`;
    const script = `use Errno; ${[425, 426, 427].map(call).join(" ")}`;
    expect(await ask(`perl -e '${script}'`)).toBe("none none none ");
  });

  it("still runs what programs usually do: pipes, threads, temporary files", async () => {
    expect(await ask("seq 3 | sort -r --parallel=2 | head -1; mktemp >/dev/null && echo made")).toBe("3\nmade\n");
  });
});

describe("the filter of system calls", () => {
  it("is known for the machines that Node is shipped for, and for no other", () => {
    expect(systemCallFilter("x64")?.length).toBe(systemCallFilter("arm64")?.length);
    expect((systemCallFilter("x64")?.length ?? 1) % 8).toBe(0);
    expect(systemCallFilter("mips")).toBeNull();
  });
});

describe.runIf(isLinux)("the watched total", () => {
  const exceededTotal = (rootPid: number, limits: TotalLimits) =>
    watchTotals(limits, { isConfined: false }).exceeded(rootPid);
  const generous = { totalMemoryBytes: 1024 ** 4, totalWrittenBytes: 1024 ** 4, processes: 1_000 };
  const child = spawn("/bin/sh", ["-c", "sleep 1000042 & sleep 1000042 & wait"], { detached: true, stdio: "ignore" });
  const pid = child.pid ?? 0;
  afterAll(() => void process.kill(-pid, "SIGKILL"));

  it("counts the processes below the first one", async () => {
    await waitFor(async () => (await exceededTotal(pid, { ...generous, processes: 2 })) === "processes", {
      what: "three processes to be counted",
    });
    expect(await exceededTotal(pid, { ...generous, processes: 3 })).toBeNull();
  });

  it("adds up the memory of them all", async () => {
    const holder = spawn("/bin/sh", ["-c", hold(20)], { detached: true, stdio: "ignore" });
    try {
      await waitFor(
        async () => (await exceededTotal(holder.pid ?? 0, { ...generous, totalMemoryBytes: 50 * MIB })) === "memory",
        { what: "three times 20 MiB to be counted" },
      );
    } finally {
      process.kill(-(holder.pid ?? 0), "SIGKILL");
    }
  });

  it("takes written bytes that a process keeps to itself as too many, where this process is not root", () => {
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    expect(execFileSync(process.execPath, [UNDUMPABLE], { encoding: "utf8", ...user })).toBe("null\nnull\ndisk\n");
  });

  it("finds nothing too much of a process that is gone", async () => {
    expect(await exceededTotal(2 ** 30, { ...generous, totalMemoryBytes: 0 })).toBeNull();
  });
});

describe.runIf(isLinux)("a control group", () => {
  it("is made where this machine lets us, and is gone afterwards", async () => {
    const group = await makeControlGroup(SHELL_LIMITS_DEFAULT, systemClock);
    process.stdout.write(`control groups: ${group === null ? "none can be made here" : group.entries.join(" ")}\n`);
    if (group === null) return;
    for (const entry of group.entries) expect(existsSync(entry)).toBe(true);
    expect(await group.ranOutOfMemory()).toBe(false);
    await group.remove();
    for (const entry of group.entries) expect(existsSync(entry)).toBe(false);
    const left = readdirSync("/sys/fs/cgroup").filter((name) => name.includes(`-${process.pid}-`));
    expect(left, "directories in places that are no control group").toEqual([]);
  });

  it("is made beside those of another container with the same pid, and leaves them alone", async () => {
    const first = await makeControlGroup(SHELL_LIMITS_DEFAULT, systemClock);
    if (first === null) return; // said above
    await first.remove();
    const parents = first.entries.map((entry) => dirname(dirname(entry)));
    const others = parents.flatMap((parent) =>
      Array.from({ length: 20 }, (_, index) => join(parent, `tessera-command-${process.pid}-${index}`)),
    );
    for (const other of others) mkdirSync(other);
    try {
      const second = await makeControlGroup(SHELL_LIMITS_DEFAULT, systemClock);
      expect(second).not.toBeNull();
      await second?.remove();
      for (const other of others) expect(existsSync(other)).toBe(true);
    } finally {
      for (const other of others) if (existsSync(other)) rmdirSync(other);
    }
  });
});
