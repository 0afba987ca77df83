// What a container engine would make of a Dockerfile, without one: each stage is a directory that becomes the root of the
// processes that its RUN lines start (bubblewrap), with the programs of this machine in the place of the base image's.
//
//   I1. Of the context only that is copied which the ignore file lets through, by the engines' rules.
//   I2. A process of an image sees its own root, the machine's programs, a Node and npm; neither this clone nor the project.
//   I3. An instruction that is not known here is an error, so that the Dockerfile cannot do more than this does.

import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, matchesGlob } from "node:path";
import type { Ran } from "./as-user.ts";

export interface ImageOrder {
  readonly dockerfile: string;
  /** The project. */
  readonly context: string;
  /** Where the stages' roots are made. */
  readonly scratch: string;
  readonly args?: Readonly<Record<string, string>>;
  /** The Node of the base image. */
  readonly node: string;
  /** What npm is told in RUN lines: this machine's cache. */
  readonly buildEnv: Readonly<Record<string, string>>;
}

export interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  /** Runs the entry point with these arguments, on a file system that it cannot write, as compose.yaml does. */
  run(...args: string[]): Ran;
}

interface Stage {
  readonly root: string;
  readonly env: Record<string, string>;
  workdir: string;
  user: string;
  entrypoint: readonly string[];
}

interface Instruction {
  readonly word: string;
  readonly rest: string;
}

const MACHINE = ["/usr", "/bin", "/lib", "/lib64", "/sbin"];
const OF_NAMES = ["/etc/resolv.conf", "/etc/hosts", "/etc/ssl", "/etc/nsswitch.conf"];
/** The user `node` of the base image. Without root there is one user, who is called by both names. */
const NODE_UID = process.getuid?.() === 0 ? 1000 : 0;
const BUILT_MS_MAX = 240_000;

export function buildImage(order: ImageOrder): Image {
  const args: Record<string, string> = { ...order.args };
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const { word, rest } of instructionsOf(readFileSync(order.dockerfile, "utf8"))) {
    const text = withVariables(rest, { ...stage?.env, ...args });
    if (word === "ARG") {
      const [name = "", value = ""] = text.split("=");
      args[name] ??= value;
    } else if (word === "FROM") {
      const [, name = String(stages.size)] = /\sAS\s+(\S+)$/.exec(text) ?? [];
      stage = newStage(order.scratch);
      stages.set(name, stage);
    } else if (stage === undefined) throw new Error(`${word} before FROM`);
    else follow({ word, rest: text }, { stage, stages, order, args });
  }
  if (stage === undefined) throw new Error(`${order.dockerfile} has no FROM`);
  const { root, env, user, entrypoint, workdir } = stage;
  return {
    root,
    env,
    user,
    run: (...line) =>
      inside({ root, env, user, workdir, isWritable: false, binds: [] }, order.node, [...entrypoint, ...line]),
  };
}

function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile
    .replace(/^\s*#.*\n/gm, "")
    .replace(/\\\n/g, " ")
    .split("\n");
  return lines.filter(Boolean).map((line) => {
    const [, word = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return { word, rest };
  });
}

function withVariables(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`the Dockerfile has no value for ${name}`);
    return value;
  });
}

interface Place {
  readonly stage: Stage;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly order: ImageOrder;
  readonly args: Readonly<Record<string, string>>;
}

function follow({ word, rest }: Instruction, { stage, stages, order, args }: Place): void {
  switch (word) {
    case "WORKDIR":
      stage.workdir = rest;
      mkdirSync(join(stage.root, rest), { recursive: true });
      return;
    case "ENV":
      Object.assign(stage.env, Object.fromEntries(rest.split(" ").map((pair) => pair.split("="))));
      return;
    case "COPY":
      copy(rest, stage, { stages, order });
      return;
    case "RUN": {
      const command = rest.replace(/^(?:--\S+\s+)+/, "");
      const env = { ...args, ...stage.env, ...order.buildEnv };
      const binds = Object.values(order.buildEnv).filter((value) => value.startsWith("/"));
      const ran = inside({ ...stage, env, binds, isWritable: true }, order.node, ["/bin/sh", "-c", command]);
      if (ran.exitCode !== 0) throw new Error(`RUN ${command} ended with ${ran.exitCode}:\n${ran.out}${ran.err}`);
      return;
    }
    case "USER":
      stage.user = rest;
      return;
    case "ENTRYPOINT":
      stage.entrypoint = JSON.parse(rest) as string[];
      return;
    case "CMD":
    case "EXPOSE":
    case "VOLUME":
      return; // for the engine, or for who starts it
    default:
      throw new Error(`the Dockerfile says ${word}, which is not known here`); // I3
  }
}

function copy(rest: string, stage: Stage, { stages, order }: Pick<Place, "stages" | "order">): void {
  const words = rest.split(" ");
  const [, from] = /^--from=(\S+)$/.exec(words[0] ?? "") ?? [];
  const paths = from === undefined ? words : words.slice(1);
  const to = join(stage.root, paths.at(-1)?.startsWith("/") ? "" : stage.workdir, paths.at(-1) ?? "");
  if (from !== undefined) {
    cpSync(join(stages.get(from)?.root ?? "", paths[0] ?? ""), to, { recursive: true, verbatimSymlinks: true });
    return;
  }
  const patterns = ignoredBy(`${order.dockerfile}.dockerignore`);
  for (const pattern of paths.slice(0, -1)) {
    const found = pattern === "." ? ["."] : globSync(pattern, { cwd: order.context });
    if (found.length === 0 && !pattern.includes("*")) throw new Error(`COPY: the context has no ${pattern}`);
    for (const name of found) {
      const source = join(order.context, name);
      const isThrough = (path: string) => !isIgnored(path.slice(order.context.length + 1), patterns); // I1
      const target = statSync(source).isDirectory() ? to : join(to, basename(name));
      cpSync(source, target, { recursive: true, verbatimSymlinks: true, filter: isThrough });
    }
  }
}

function ignoredBy(file: string): string[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The last pattern that matches a path, or a folder that it lies in, decides. */
export function isIgnored(path: string, patterns: readonly string[]): boolean {
  const parts = path.split("/");
  const places = parts.map((_, at) => parts.slice(0, at + 1).join("/"));
  const last = patterns.findLast((pattern) => places.some((place) => matchesGlob(place, pattern.replace(/^!/, ""))));
  return last !== undefined && !last.startsWith("!");
}

function newStage(scratch: string): Stage {
  const root = mkdtempSync(join(scratch, "stage-"));
  chmodSync(root, 0o755); // as a root is
  const files = {
    "etc/passwd": `root:x:0:0:root:/root:/bin/sh\nnode:x:${NODE_UID}:${NODE_UID}::/home/node:/bin/sh\n`,
    "etc/group": `root:x:0:\nnode:x:${NODE_UID}:\n`,
  };
  for (const folder of ["etc", "tmp", "root", "home/node"]) mkdirSync(join(root, folder), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(root, path), text);
  return { root, env: {}, workdir: "/", user: "root", entrypoint: [] };
}

interface World {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  readonly isWritable: boolean;
  readonly binds: readonly string[];
}

/** I2 */
function inside(world: World, node: string, line: readonly string[]): Ran {
  const { root, env, user, workdir, isWritable, binds } = world;
  const readOnly = [...MACHINE, ...OF_NAMES].flatMap((path) => ["--ro-bind-try", path, path]);
  const environment = {
    HOME: user === "root" ? "/root" : `/home/${user}`,
    PATH: "/node:/usr/local/bin:/usr/bin:/bin",
    ...env,
  };
  const args = [
    ...["--bind", root, "/", ...readOnly, "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/tmp"],
    ...["--ro-bind", dirname(node), "/node"],
    ...binds.flatMap((path) => ["--bind", path, path]),
    ...(isWritable ? [] : ["--remount-ro", "/"]),
    ...["--unshare-pid", "--die-with-parent", "--clearenv"],
    ...Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["--chdir", workdir, "--"],
    ...(user === "root" || NODE_UID === 0
      ? []
      : ["setpriv", `--reuid=${NODE_UID}`, `--regid=${NODE_UID}`, "--clear-groups"]),
    ...line,
  ];
  const { status, stdout, stderr, error } = spawnSync("bwrap", args, { encoding: "utf8", timeout: BUILT_MS_MAX });
  if (error !== undefined) {
    throw new Error(`bubblewrap could not be started; run: apt-get install -y bubblewrap (as root, on Debian)`, {
      cause: error,
    });
  }
  return { exitCode: status, out: stdout, err: stderr };
}
