// What is measured: a program that runs in a process of its own and reports its figures.

/** A server that a program needs; it gets the address as a flag of the same name. */
export type ServerName = "postgres" | "nats" | "redis" | "restate";

export interface Work {
  readonly name: string;
  readonly what: string;
  /** From bench/. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Added with --quick: smaller, and not enough to judge a target by. */
  readonly quickArgs?: readonly string[];
  readonly needs?: readonly ServerName[];
  readonly nodeFlags?: readonly string[];
}
