// tessera verify: the invariants of a store, on live data. Reads only, in one snapshot; processes at work are not held up.
// A store that no process holds is opened as it is, without the leases that a worker would free in it.

import type { VerifyReport, Violation } from "@tessera/runtime";
import type { Command } from "commander";
import { reachRunning } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { addServerFlags, addStoreFlags, type StoreFlags } from "../flags/flags.ts";
import { sentence, type Terminal, type Text } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";

interface VerifyFlags extends StoreFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly drained?: boolean;
}

const VERIFY_HELP = `
Exits 1 and shows the offending rows if an invariant does not hold.

Examples:
  $ tessera verify --data ./store
  $ tessera verify --postgres postgres://me@localhost:5432/tessera --json`;

export function defineVerify(command: Command, { terminal, onExit }: ProgramParts): void {
  addServerFlags(addStoreFlags(command))
    .option("--drained", "nothing is under way: check liveness, too")
    .addHelpText("after", VERIFY_HELP)
    .action(async (flags: VerifyFlags) => onExit(await verify(flags, terminal)));
}

async function verify(flags: VerifyFlags, terminal: Terminal): Promise<ExitCode> {
  const drained = flags.drained === true;
  const running = await reachRunning(flags, terminal);
  const { name, report } =
    running === null
      ? await verifyHere(flags, drained, terminal)
      : { name: running.name, report: await running.client.verifyStore({ drained }) };
  const isClean = report.violations.length === 0;
  const mode = drained ? "drained" : "live";
  terminal.out(
    flags.json === true
      ? `${JSON.stringify({ ok: isClean, store: name, mode, ...report })}\n`
      : verifyText(name, mode, report),
  );
  return isClean ? EXIT.ok : EXIT.failure;
}

async function verifyHere(flags: VerifyFlags, drained: boolean, terminal: Terminal) {
  const [{ verifyStore }, { withStore }] = await Promise.all([
    import("@tessera/runtime"),
    import("../flags/store-flags.ts"),
  ]);
  return await withStore(flags, { migrate: "check" }, terminal, async (store) => ({
    name: store.place.name,
    report: await verifyStore(store, { drained }),
  }));
}

export function verifyText(name: string, mode: "live" | "drained", { checked, violations }: VerifyReport): Text {
  const what = `${checked} invariants of ${name} (${mode})`;
  if (violations.length === 0) return [sentence(`checked ${what}: all hold`)];
  return [sentence(`checked ${what}: ${violations.length} broken`), ...violations.flatMap(violationText)];
}

function violationText({ invariant, kind, says, found, rows }: Violation) {
  const more = found > rows.length ? `  (the first ${rows.length} of ${found} rows)\n` : "";
  return ["\n", sentence(`${invariant} (${kind}) does not hold: ${says}`), { rows, indent: "  " }, more];
}
