// A registry that serves the packed packages as the real one would, and knows no other: npm asks it for our scope only.
//
//   R1. A package is served once its answer lies in the directory (installed-project.ts writes it): another process packs.
//   R2. Nothing of it is kept by npm: the next run has other packages of the same names and versions.

import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/** What the registry knows of a package; npm asks for it by name. */
export interface Published {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly tarball: string;
  readonly integrity: string;
}

export function publishedFile(directory: string, name: string): string {
  return join(directory, `${encodeURIComponent(name)}.json`);
}

export async function startRegistry(directory: string): Promise<Registry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://registry").pathname).slice(1);
    response.setHeader("cache-control", "no-store"); // R2
    const tarball = join(directory, basename(path));
    if (path.endsWith(".tgz") && existsSync(tarball)) {
      createReadStream(tarball).pipe(response);
      return;
    }
    const file = publishedFile(directory, path);
    if (!existsSync(file)) {
      response.writeHead(404).end("{}"); // R1
      return;
    }
    const { manifest, tarball: name, integrity } = JSON.parse(readFileSync(file, "utf8")) as Published;
    const version = { ...manifest, dist: { tarball: `${urlOf(server)}/${name}`, integrity } };
    const answer = {
      name: manifest.name,
      "dist-tags": { latest: manifest.version },
      versions: { [manifest.version]: version },
    };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: urlOf(server),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
