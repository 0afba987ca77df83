// Makes sure that the tests have their servers: finds PostgreSQL and NATS, installs them where that is possible, or
// says what to run. The first step of `npm test`.

import {
  findNats,
  findPostgres,
  hasBubblewrap,
  hasProgram,
  installServers,
  natsVersion,
  postgresVersion,
} from "../packages/testkit/src/servers/server-binaries.ts";

const given = { postgres: process.env.TESSERA_TEST_POSTGRES_URL, nats: process.env.TESSERA_TEST_NATS_URL };

function isMissing(): boolean {
  try {
    if (!given.postgres) findPostgres();
    if (!given.nats) findNats();
    return !hasBubblewrap() || !hasProgram("curl") || !hasProgram("python3");
  } catch {
    return true; // said below, after the attempt to install
  }
}

try {
  if (isMissing()) installServers();
  console.log(given.postgres ? "PostgreSQL: given by TESSERA_TEST_POSTGRES_URL" : `PostgreSQL: ${postgresVersion()}`);
  console.log(given.nats ? "NATS: given by TESSERA_TEST_NATS_URL" : `NATS: ${natsVersion()}`);
  for (const program of ["curl", "python3"]) {
    if (!hasProgram(program)) throw new Error(`${program} was not found; the guides and the Python examples need it`);
  }
  const sandbox = hasBubblewrap() ? "found" : "not found; the shell tool is tested without its sandbox";
  console.log(`bubblewrap: ${sandbox}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
