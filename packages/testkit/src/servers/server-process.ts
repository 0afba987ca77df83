// A server that dies with us.
//
// The server runs under a small `sh` that also reads a pipe from this process. When this process ends, however it
// ends, the pipe closes and the shell stops the server and removes its directory.
//
//   P1. No server outlives the process that started it, not even after kill -9.
//   P2. Signals go to the server's own pid, never to a name or a group.
//   P3. Ctrl-C and a closed terminal, which reach everybody in this process's group, do not reach the server: who started it
//       stops it, in order.
//   P4. No caller waits for ever: a server that does not end in time is killed, and that is an error.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { waitFor } from "../wait-for.ts";

// $1 signal for the end of the parent, $2 directory to remove then or "", the rest is the server's command line.
// CONT, because a server that a test has stopped would not hear the signal. The shell itself prints nothing: when we
// are dead, a word to our pipe would be its end, too.
const KEEPER = `
signal="$1"; garbage="$2"; shift 2
exec 4<&0
"$@" </dev/null 3>&- 4<&- &
server=$!
echo "$server" >&3
exec 3>&- >/dev/null 2>&1
( cat <&4 >/dev/null
  if [ -n "$garbage" ]; then : >"$garbage/orphaned"; fi
  kill "-$signal" "$server"; kill -CONT "$server"
) &
watch=$!
wait "$server"
code=$?
kill -KILL "$watch"
if [ -n "$garbage" ] && [ -e "$garbage/orphaned" ]; then rm -rf "$garbage"; fi
exit "$code"
`;
const OUTPUT_CHARS_MAX = 20_000;
const LAUNCH_MS_MAX = 20_000;
const END_MS_MAX = 60_000;

export interface ServerCommand {
  readonly command: readonly string[];
  readonly directory: string;
  /** What makes the server stop at once when we die. */
  readonly orphanSignal: "QUIT" | "KILL";
  /** Removed when we die without stopping the server. */
  readonly garbage?: string | undefined;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

export class ServerProcess {
  readonly pid: number;
  readonly #keeper: ChildProcess;
  #output = "";
  #isRunning = true;

  private constructor(pid: number, keeper: ChildProcess) {
    this.pid = pid;
    this.#keeper = keeper;
    const collect = (chunk: Buffer) => {
      this.#output = (this.#output + chunk.toString()).slice(-OUTPUT_CHARS_MAX);
    };
    keeper.stdout?.on("data", collect);
    keeper.stderr?.on("data", collect);
    keeper.once("exit", () => {
      this.#isRunning = false;
    });
  }

  static async start({ command, directory, orphanSignal, garbage, user }: ServerCommand): Promise<ServerProcess> {
    const keeper = spawn("/bin/sh", ["-c", KEEPER, "keeper", orphanSignal, garbage ?? "", ...command], {
      cwd: directory,
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      detached: true, // P3
      ...(user === undefined ? {} : user),
    });
    keeper.stdin?.on("error", () => {}); // the keeper may be gone before its pipe is closed
    const signal = AbortSignal.timeout(LAUNCH_MS_MAX);
    try {
      const [line] = (await once(keeper.stdio[3] as NodeJS.ReadableStream, "data", { signal })) as [Buffer];
      return new ServerProcess(Number(line.toString().trim()), keeper);
    } catch (error) {
      keeper.stdin?.end(); // P1
      throw new Error(`${command[0]} was not launched in ${LAUNCH_MS_MAX} ms`, { cause: error });
    }
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The end of what it printed, for messages. */
  get output(): string {
    return this.#output;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.#isRunning) process.kill(this.pid, signal); // P2
  }

  /** Sends the signal and resolves when the server has ended. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal);
    const ended = { what: `server ${this.pid} to end by ${signal}`, timeoutMs: END_MS_MAX };
    await waitFor(() => !this.#isRunning, ended).finally(() => this.signal("SIGKILL")); // P4
    this.#keeper.stdin?.end();
  }
}
