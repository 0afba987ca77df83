// Ends a process that cannot end itself when we die, because it is stopped.
//
//   O1. A shell waits at a pipe from this process, as that of a server does (server-process.ts). When we die, however we die,
//       the pipe closes and the shell kills the process.
//   O2. It is released as soon as the process runs again or has ended: later its pid may belong to another one.

import { spawn } from "node:child_process";

const WATCH = 'read -r _; kill -KILL "$1"';

/** Answers what releases it (O2). */
export function endWithUs(pid: number): () => void {
  const watch = spawn("/bin/sh", ["-c", WATCH, "watch", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C is for who started it
  });
  return () => void watch.kill("SIGKILL");
}
