// tessera doctor: the command and its flags.

import type { Command } from "commander";
import { addApiFlags } from "../flags/flags.ts";
import type { ProgramParts } from "../program.ts";
import type { DoctorFlags } from "./doctor-command.ts";

const DOCTOR_HELP = `
Looks at this machine, the store, the broker, who works and who may, and at a
bundle if there is one. Changes nothing. Each check is ok, warn or fail, with
what was found and what to do. Exits 0 if nothing failed, 3 if configuration is
at fault, 4 if something cannot be reached.

Examples:
  $ tessera doctor
  $ tessera doctor ./bundle --data ./store
  $ tessera doctor --postgres postgres://me@localhost:5432/tessera --nats nats://localhost:4222 --json`;

export function addDoctorCommand({ program, terminal, onExit }: ProgramParts): void {
  addApiFlags(program.command("doctor").copyInheritedSettings(program))
    .argument("[bundle]", "a directory or a YAML file (default: the current directory, if it holds a bundle)")
    .description("check this machine, the store, the broker and a bundle, and say what to do")
    .option("--port <number>", "where the API would listen (default 8099)")
    .option("--all", "print every setting, not only those that somebody set")
    .addHelpText("after", DOCTOR_HELP)
    .action(async (bundle: string | undefined, flags: DoctorFlags, command: Command) => {
      const { doctorCommand } = await import("./doctor-command.ts");
      // A default of the parser is no flag that somebody gave: the settings know their own.
      const project = command.getOptionValueSource("project") === "cli" ? flags.project : undefined;
      onExit(await doctorCommand(bundle, { ...flags, project }, terminal));
    });
}
