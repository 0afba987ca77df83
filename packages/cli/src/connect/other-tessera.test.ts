import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { describeFailure } from "../output/failure.ts";
import { takenByTessera } from "./other-tessera.ts";

async function taken(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const listen = { code: "EADDRINUSE", syscall: "listen", address: "127.0.0.1", port };
  const found = await takenByTessera(Object.assign(new Error("in use"), listen));
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { found, port };
}

it("a Tessera on the port is named with its address, also one that is not well", async () => {
  const { found, port } = await taken((_, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"status":"ok","checks":[]}');
  });
  const failure = describeFailure(found);
  expect(failure).toMatchObject({ exitCode: 3, message: expect.stringContaining("which is a Tessera") });
  expect(failure.todo).toContain(`tessera run --url http://127.0.0.1:${port}`);
  const unwell = await taken((_, response) => response.writeHead(503, { "x-request-id": "r" }).end("{}"));
  expect(unwell.found).not.toBeNull();
});

it("anything else on it is not, nor is another error", async () => {
  expect((await taken((_, response) => response.end("<html>"))).found).toBeNull();
  expect((await taken((_, response) => response.end('{"status":"ok"}'))).found).toBeNull();
  expect(await takenByTessera(new Error("something else"))).toBeNull();
});
