// A program that holds a directory until it is killed: prints where it is reached.

import { createTessera } from "@tessera/runtime";

const tessera = await createTessera({ data: process.argv[2] ?? "", log: () => {} });
process.stdout.write(`${JSON.stringify(tessera.client)}\n`);
