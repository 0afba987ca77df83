// PostgreSQL with Tessera's schema, deploy/roles.sql and deploy/logins.sql applied as compose applies them.
//
//   P1. No process of ours logs in as the owner of the schema: migrations are a step of their own.
//   P2. The server is on this machine only and trusts every connection, so passwords are not checked here; what a login may
//       do is.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "../../packages/testkit/src/servers/postgres-server.ts";
import { findPostgres, postgresUser } from "../../packages/testkit/src/servers/server-binaries.ts";
import { TESSERA } from "./role-process.ts";

const DEPLOY = join(import.meta.dirname, "../../deploy");
const DATABASE = "tessera";
/** As deploy/logins.sql makes them. */
const LOGINS = ["kernel", "worker", "pmo", "tools", "api", "reader"] as const;
export type Login = (typeof LOGINS)[number];

export interface LocalPostgres {
  readonly server: PostgresServer;
  /** The owner's, for migrations. */
  readonly ownerUrl: string;
  /** `port` where something stands between. */
  urlOf(login: Login, port?: number): string;
}

export async function startLocalPostgres(directory: string): Promise<LocalPostgres> {
  const place = join(directory, "postgres");
  const isNew = !existsSync(join(place, "PG_VERSION"));
  mkdirSync(place, { recursive: true });
  if (postgresUser() !== undefined) chmodSync(directory, 0o711); // it runs as another user, who must get through
  const server = await startPostgres({ directory: place });
  const ownerUrl = server.url.replace(/postgres$/, DATABASE);
  const passwords = new Map(LOGINS.map((login) => [login, randomBytes(18).toString("base64url")]));
  try {
    if (isNew) psql(server.url, ["--command", `create database ${DATABASE}`]);
    run(process.execPath, [TESSERA, "migrate", "--json"], { TESSERA_POSTGRES: ownerUrl }); // P1
    const variables = [...passwords].map(([login, text]) => [`TESSERA_DB_${login.toUpperCase()}_PASSWORD`, text]);
    const files = ["roles.sql", "logins.sql"].flatMap((file) => ["--file", join(DEPLOY, file)]);
    psql(ownerUrl, files, Object.fromEntries(variables));
  } catch (error) {
    await server.stop("fast");
    throw error;
  }
  return {
    server,
    ownerUrl,
    urlOf: (login, port = server.port) => `postgres://${login}:${passwords.get(login)}@127.0.0.1:${port}/${DATABASE}`, // P2
  };
}

function psql(url: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  run(join(findPostgres(), "psql"), ["--no-psqlrc", "--set", "ON_ERROR_STOP=1", "--quiet", ...args, url], env);
}

function run(program: string, args: readonly string[], env: Readonly<Record<string, string>>): void {
  execFileSync(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
}
