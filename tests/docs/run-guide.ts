// Runs a guide as a reader would, outside of the clone, block after block. One test for each section.
//
//   ```ts title="tools/x.ts"   writes the file
//   ```sh                      runs the commands; `sh exits=5` says how they end; `sh not-run` is only shown
//   ```text                    after `sh`: what the commands print, with … for what differs from run to run
//
//   R1. The reader's environment is npm, to which the packages are published, and for guides with servers an empty database
//       and a NATS of its own in the variables that the command reads. NATS is its own because targets are shared by name. What
//       makes a run quick is there besides: shorter leases, for guides that kill, the options of this run's processes, and what
//       a guide installs is in its directory before it asks npm for it.
//   R2. After a section that failed the rest of the guide is not worth running.
//   R3. What is said about the age of the machine's NATS depends on the machine, and is not compared.

import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { openPostgres } from "@tessera/engines/postgres";
import { startNats } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { installedProject } from "../package/installed-project.ts";
import { type GuideBlock, isAsShown, readGuide } from "./guide-blocks.ts";
import { GuideShell } from "./guide-shell.ts";

export const ROOT = join(import.meta.dirname, "../..");
const NATS_AGE = /^(?:tessera: )?warning: NATS \S+ has CVE.*\n/gm;
const SECTION_MS_MAX = 120_000;
/** The first file of a run packs and installs the packages. */
const SETUP_MS_MAX = 300_000;

export function runGuide(name: string, options: { readonly servers?: boolean } = {}): void {
  const file = `docs/guides/${name}.md`;
  const sections = readGuide(readFileSync(join(ROOT, file), "utf8"));
  describe(file, () => {
    const base = mkdtempSync(join(tmpdir(), "tessera-guide-"));
    let directory = "";
    const closing: (() => Promise<void>)[] = [];
    let shell: GuideShell;
    let isBroken = false;

    beforeAll(async () => {
      const project = await installedProject();
      directory = project.directory;
      const servers = options.servers === true ? await openServers(closing) : {};
      shell = new GuideShell({ directory, scratch: base, env: { ...project.env, ...OF_THE_RUN, ...servers } });
    }, SETUP_MS_MAX);
    afterAll(async () => {
      await shell?.close();
      for (const close of closing.reverse()) await close();
      rmSync(base, { recursive: true, force: true });
    });

    it.each(sections.map(({ title, blocks }) => [title, blocks] as const))(
      "%s",
      async (_title, blocks) => {
        if (isBroken) throw new Error("an earlier section of this guide failed"); // R2
        isBroken = true;
        for (const block of blocks) await follow(block);
        isBroken = false;
      },
      SECTION_MS_MAX,
    );

    async function follow(block: GuideBlock): Promise<void> {
      if (block.kind === "file") {
        mkdirSync(dirname(join(directory, block.path)), { recursive: true });
        writeFileSync(join(directory, block.path), block.text);
        return;
      }
      const ran = await shell.run(block.text).catch((error: Error) => {
        throw new Error(`${file}:${block.line}: ${error.message}${logsOf(directory)}`);
      });
      const output = ran.output.replace(NATS_AGE, ""); // R3
      const at = `${file}:${block.line}`;
      expect(ran.status, `${at} ended with ${ran.status}; it printed:\n${output}`).toBe(block.exits);
      if (block.prints !== null && !isAsShown(output, block.prints)) {
        expect(output.trimEnd(), `${at} printed something else than it shows`).toBe(block.prints);
      }
    }
  });
}

/** What background processes of a block that hangs have said: guides send it to files of this ending. */
function logsOf(directory: string): string {
  const logs = readdirSync(directory).filter((name) => name.endsWith(".log"));
  return logs.map((name) => `\n--- ${name}\n${readFileSync(join(directory, name), "utf8")}`).join("");
}

/** R1 */
const OF_THE_RUN = {
  ...(process.env.NODE_OPTIONS === undefined ? {} : { NODE_OPTIONS: process.env.NODE_OPTIONS }),
  PYTHONDONTWRITEBYTECODE: "1",
};

/** R1 */
async function openServers(closing: (() => Promise<void>)[]): Promise<Record<string, string>> {
  const nats = await startNats();
  closing.push(() => nats.stop());
  const url = new URL(inject("postgresUrl"));
  const name = `tessera_guide_${randomBytes(8).toString("hex")}`;
  const server = await openPostgres({ url: url.href, poolMax: 1, applicationName: "tessera-guide" });
  closing.push(() => server.close());
  await server.query(`create database ${name}`);
  closing.push(async () => void (await server.query(`drop database if exists ${name} with (force)`)));
  url.pathname = `/${name}`;
  return { TESSERA_POSTGRES: url.href, TESSERA_NATS: nats.url, TESSERA_LEASE_SECONDS: "5" };
}
