// Where the real servers are: PostgreSQL and NATS on this machine.
//
//   B1. A missing server is an error that says what to run; nothing is skipped.

import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** The servers, the shell tool's sandbox, and what the guides and the Python examples call. */
const INSTALL = "apt-get update && apt-get install -y postgresql nats-server bubblewrap curl python3";
const POSTGRES_HOMES = "/usr/lib/postgresql";
const POSTGRES_MAJOR_MIN = 15;

class ServerMissingError extends Error {
  override readonly name = "ServerMissingError";
  constructor(server: string, variable: string) {
    super(`${server} was not found; run: ${INSTALL}  (as root, on Debian), or set ${variable} to a running one`); // B1
  }
}

/** The directory of `postgres` and `initdb`. */
export function findPostgres(): string {
  const homes = existsSync(POSTGRES_HOMES) ? readdirSync(POSTGRES_HOMES) : [];
  const packaged = homes
    .filter((name) => Number(name) >= POSTGRES_MAJOR_MIN)
    .sort((a, b) => Number(b) - Number(a))
    .map((name) => join(POSTGRES_HOMES, name, "bin"));
  const found = [...packaged, ...searchPath()].find((place) => isProgram(join(place, "initdb")));
  if (found === undefined) throw new ServerMissingError("PostgreSQL", "TESSERA_TEST_POSTGRES_URL");
  return dirname(realpathSync(join(found, "initdb"))); // next to it are its libraries
}

export function findNats(): string {
  const places = [...searchPath(), "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
  const found = places.map((place) => join(place, "nats-server")).find(isProgram);
  if (found === undefined) throw new ServerMissingError("nats-server", "TESSERA_TEST_NATS_URL");
  return found;
}

/** The sandbox of the shell tool; its tests say which of their cases ran without it. */
export function hasBubblewrap(): boolean {
  return hasProgram("bwrap");
}

/** Whether a program that tests call is on this machine. */
export function hasProgram(name: string): boolean {
  return [...searchPath(), "/usr/bin"].some((place) => isProgram(join(place, name)));
}

export function postgresVersion(): string {
  return execFileSync(join(findPostgres(), "postgres"), ["--version"], { encoding: "utf8" }).trim();
}

export function natsVersion(): string {
  return execFileSync(findNats(), ["--version"], { encoding: "utf8" }).trim();
}

/** Installs what is missing where that is possible without asking: as root on Debian. */
export function installServers(): void {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync("/usr/bin/apt-get")) return;
  execFileSync("/bin/sh", ["-c", INSTALL], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
}

/** PostgreSQL refuses to run as root; then it runs as the user its package made. */
export function postgresUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

function searchPath(): string[] {
  return (process.env.PATH ?? "").split(delimiter).filter((place) => place !== "");
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // absent or not ours to run: the search goes on
  }
}
