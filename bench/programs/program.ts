// What every measuring program has in common: flags in, figures out.
//
//   P1. A program measures one thing in a process of its own and prints one line of JSON on stdout: its figures.
//   P2. Its second process, where it has one, is the same file with `--role`; it is ended with the program.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { parseArgs } from "node:util";
import type { Figures } from "../statistics.ts";

const TEXT = { type: "string" } as const;
const FLAG = { type: "boolean", default: false } as const;
const { values } = parseArgs({
  options: {
    postgres: TEXT,
    nats: TEXT,
    "postgres-pid": TEXT,
    "nats-pid": TEXT,
    redis: TEXT,
    restate: TEXT,
    seconds: TEXT,
    concurrency: TEXT,
    role: TEXT,
    effect: TEXT,
    sizes: TEXT,
    turns: TEXT,
    placement: TEXT,
    url: TEXT,
    key: TEXT,
    cost: FLAG,
    disk: FLAG,
  },
});

export const seconds = Number(values.seconds ?? 6);
export const concurrencies: readonly number[] = (values.concurrency ?? "1,64").split(",").map(Number);
export const role = values.role ?? "main";

export const flags = values;

export function needed(name: Exclude<keyof typeof values, "cost" | "disk">): string {
  const value = values[name];
  if (value === undefined) throw new Error(`--${name} is needed; \`npm run bench\` gives it`);
  return value;
}

/** P1 */
export function tell(figures: Figures): void {
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

export interface SecondProcess {
  /** Asks for something by name; the other side answers with `answerQuestions`. */
  ask<Answer>(question: string): Promise<Answer>;
  readonly child: ChildProcess;
  end(): void;
}

/** P2: this program again, in another role, when it has said that it is ready. */
export async function startSecond(role: string, more: readonly string[] = []): Promise<SecondProcess> {
  const child = fork(process.argv[1] ?? "", [...process.argv.slice(2), ...more, "--role", role], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  child.once("exit", (code) => {
    if (code !== 0 && code !== null) throw new Error(`the process for ${role} ended with ${code}`);
  });
  await once(child, "message");
  return {
    child,
    async ask<Answer>(question: string) {
      child.send(question);
      const [answer] = (await once(child, "message")) as [Answer];
      return answer;
    },
    end: () => void child.kill("SIGKILL"),
  };
}

/** The other side of `startSecond`. */
export function answerQuestions(answers: Readonly<Record<string, () => unknown>> = {}): void {
  process.on("message", async (question: string) => {
    process.send?.((await answers[question]?.()) ?? cpuMicroseconds());
  });
  process.once("disconnect", () => process.exit(0));
  process.send?.("ready");
}

export function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
