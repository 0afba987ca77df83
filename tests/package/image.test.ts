// deploy/Dockerfile, built without a container engine (build-image.ts): a project of a user, with libraries of its own and Tessera
// as it is packed, and what its entry point then does.

import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, readdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { PACKAGES } from "@tessera/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { buildImage, type Image, isIgnored } from "./build-image.ts";
import { emptyDirectory, packedPackages, userEnvironment } from "./installed-project.ts";

const SLOW_MS = 300_000;
/** What lies in the project and must not be in an image. */
const SECRETS = [".env", ".env.production", "server.key", ".npmrc"];

/** How this machine reaches the registry. */
function ofTheNetwork(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => /^(?:npm_config_|node_extra_ca_certs$|(?:https?|no)_proxy$)/i.test(name)),
  );
}

describe.runIf(process.platform === "linux")("the image of a project", () => {
  let image: Image;
  const inImage = (path: string) => join(image.root, "app", path);

  beforeAll(async () => {
    const project = emptyDirectory();
    const env = await userEnvironment();
    const npm = (...args: string[]) => execFileSync("npm", args, { cwd: project, env, encoding: "utf8" });
    cpSync(join(import.meta.dirname, "project"), project, { recursive: true });
    const manifest = { private: true, type: "module", devDependencies: { "@types/node": "24" } };
    writeFileSync(join(project, "package.json"), JSON.stringify(manifest));
    const tarballs = (await packedPackages()).map(({ tarball }) => tarball);
    for (const tarball of tarballs) copyFileSync(tarball, join(project, basename(tarball)));
    npm(
      "install",
      "--no-audit",
      "--no-fund",
      ...tarballs.map((each) => `./${basename(each)}`),
      "slugify@1.6.9",
      "zod@4.6.7",
    );
    cpSync(join(project, "node_modules", PACKAGES.main, "deploy"), join(project, "deploy"), { recursive: true });
    for (const secret of SECRETS) writeFileSync(join(project, secret), "# nothing\n");

    // What was fetched is a link in the cache of this run (installed-project.ts, I4), and would lead nowhere in the image.
    const cache = npm("config", "get", "cache").trim();
    image = buildImage({
      dockerfile: join(project, "deploy/Dockerfile"),
      context: project,
      scratch: emptyDirectory(),
      args: { NODE_IMAGE: "this machine" },
      node: join(env.PATH?.split(delimiter)[0] ?? "", "node"),
      buildEnv: { ...ofTheNetwork(env), npm_config_cache: dirname(realpathSync(join(cache, "_cacache"))) },
    });
  }, SLOW_MS);

  it(
    "runs the bundle, whose tools take libraries of the project, as a user who may write nothing of it",
    () => {
      expect(image.user).toBe("node");
      const { exitCode, out, err } = image.run("run", ".", "--input", "Hello World");
      expect({ exitCode, out }, err).toEqual({ exitCode: 0, out: "hello-world-isolated-child.js tessera\n" });
      expect(image.run("validate").out).toMatch(/: no mistakes/);
      expect(statSync(inImage("tessera.yaml")).uid).toBe(process.getuid?.());
      const isRoot = process.getuid?.() === 0;
      expect(statSync(join(image.root, "workspaces")).uid).toBe(isRoot ? 1000 : process.getuid?.());
    },
    SLOW_MS,
  );

  it("has what the lock file names, and neither what only development needs nor tests, secrets or deploy/", () => {
    for (const path of [
      "package-lock.json",
      `node_modules/${PACKAGES.main}`,
      "node_modules/slugify",
      "tools/slug.ts",
    ]) {
      expect(existsSync(inImage(path)), path).toBe(true);
    }
    const left = [...SECRETS, "deploy", "tool.test.ts", "node_modules/@types/node"];
    expect(left.filter((path) => existsSync(inImage(path)))).toEqual([]);
    expect(readdirSync(image.root).toSorted()).toEqual(expect.arrayContaining(["app", "workspaces"]));
  });
});

describe("the ignore file of a build", () => {
  it.each([
    ["a/node_modules/b/c.js", ["**/node_modules"], true],
    ["node_modules/b/c.js", ["**/node_modules"], true],
    ["store/base", ["store"], true],
    ["tools/store.ts", ["store"], false],
    ["tools/.env", ["**/.env"], true],
    ["tools/a.test.ts", ["**/*.test.*"], true],
    ["keep/a.key", ["**/*.key", "!keep/a.key"], false],
  ] as const)("takes %s by %j as an engine does", (path, patterns, ignored) => {
    expect(isIgnored(path, patterns)).toBe(ignored);
  });
});
