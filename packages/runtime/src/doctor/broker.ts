// The broker: is it there, is it new enough, does it keep streams, does it let everybody in.
//
// The bus only carries hints, so a broker that is gone makes nothing wrong, only slow; but a broker that was named is expected to
// work.

import { WORKER_TARGET_DEFAULT } from "@tessera/agent";
import type { DurableLook } from "@tessera/engines/nats";
import { natsVersionAdvice } from "@tessera/engines/nats-version";
import { systemClock } from "@tessera/engines/system";
import { durableOfProject, pmoDurable, streamsOf, workerDurable } from "@tessera/protocol";
import { natsConnection } from "../process/open-bus.ts";
import { type Check, checksOf, saidBy, wallMs } from "./check.ts";
import { type Greeting, greetNats } from "./nats-greeting.ts";

const broker = checksOf("broker");
export const CLOCK_DIFFERENCE_MS_MAX = 1_000;

export interface BrokerQuestion {
  readonly project: string;
  /** Null: it is not known which store this is. */
  readonly storeId: string | null;
}

export async function checkBroker(url: string, question: BrokerQuestion): Promise<Check[]> {
  const { servers, ...login } = natsConnection(url);
  const [stream] = streamsOf();
  const checks: Check[] = [];
  for (const server of servers) {
    const name = servers.length === 1 ? "" : ` ${new URL(server).host}`;
    try {
      const greeting = await greetNats({ server, ...login, stream: stream?.name ?? "" });
      checks.push(...greetingChecks(greeting, new URL(server).host, Object.keys(login).length > 0, name));
    } catch (error) {
      const fix = "Check that nats-server runs and that the address is right.";
      checks.push(
        broker.unreachable(`nats${name}`, `no NATS server answers at ${new URL(server).host}: ${saidBy(error)}`, fix),
      );
    }
  }
  if (checks.every(({ status }) => status !== "fail")) checks.push(...(await durableChecks(url, question)));
  return checks;
}

async function durableChecks(url: string, { project, storeId }: BrokerQuestion): Promise<Check[]> {
  const { lookAtDurables } = await import("@tessera/engines/nats");
  const [stream] = streamsOf();
  const names = [durableOfProject(workerDurable(WORKER_TARGET_DEFAULT), project), pmoDurable()];
  try {
    return storeChecks(await lookAtDurables(natsConnection(url), stream?.name ?? "", names), storeId);
  } catch (error) {
    return [broker.unreachable("stores", `whose durables there are could not be asked: ${saidBy(error)}`, "Repeat.")];
  }
}

/** Which store has the published names of the durables. */
export function storeChecks(looks: readonly DurableLook[], storeId: string | null): Check[] {
  const named = looks.filter((look) => look.storeId !== null);
  if (named.length === 0) return [broker.ok("stores", "no store has durables here that this user may look at")];
  return named.map(({ durable, storeId: owner }) => {
    const found = `${durable} serves ${owner}`;
    if (storeId === null) return broker.ok("stores", `${found}; which store this is was not looked at`);
    if (owner === storeId) return broker.ok("stores", `${found}: this store`);
    const fix =
      "Nothing is wrong between the two; executors of other makers on NATS need a NATS account for each store (deploy/README.md).";
    return broker.warn("stores", `${found}, and this is ${storeId}: it uses a name of its own`, fix);
  });
}

export function greetingChecks(greeting: Greeting, host: string, hasLogin: boolean, name = ""): Check[] {
  const { jetstream, authRequired, refusal, timeMs, isStreamFull } = greeting;
  if (refusal !== null) {
    const fix = "Check user and password, or the token, in the NATS URL.";
    return [versionCheck(greeting, host, name), broker.wrong(`login${name}`, `the server refused: ${refusal}`, fix)];
  }
  const checks = [
    versionCheck(greeting, host, name),
    jetstream
      ? broker.ok(`jetstream${name}`, "JetStream is enabled")
      : broker.wrong(
          `jetstream${name}`,
          "JetStream is not enabled",
          "Start nats-server with -js, or with a jetstream block.",
        ),
    authRequired
      ? broker.ok(`login${name}`, hasLogin ? "the server took the user of the URL" : "the server took this client")
      : broker.warn(
          `login${name}`,
          "the server accepts every connection without authentication",
          "Give each role a user with its own permissions (deploy/nats.conf), and put one into the NATS URL.",
        ),
  ];
  if (isStreamFull) {
    const fix = "Raise its limits, or let it discard the oldest (discard: old); calls go on meanwhile, slower.";
    checks.push(broker.warn(`streams${name}`, "the stream of commands is full and refuses messages", fix));
  }
  if (timeMs === null) return checks;
  return [...checks, clockCheck(`clock${name}`, timeMs - wallMs(systemClock))];
}

function versionCheck({ version }: Greeting, host: string, name: string): Check {
  const found = `NATS ${version} at ${host}`;
  const advice = natsVersionAdvice(version);
  if (advice === null) return broker.ok(`nats${name}`, found);
  const { kind, says, todo } = advice;
  if (kind === "note") return broker.ok(`nats${name}`, `${found} ${says}; ${todo}`);
  return broker.warn(`nats${name}`, `${found} ${says}`, `${todo.charAt(0).toUpperCase()}${todo.slice(1)}.`);
}

function clockCheck(name: string, differenceMs: number): Check {
  const found = `its clock differs from this machine's by ${Math.abs(Math.round(differenceMs))} ms`;
  if (Math.abs(differenceMs) <= CLOCK_DIFFERENCE_MS_MAX) return broker.ok(name, found);
  return broker.warn(name, found, "Let both machines set their clocks (chrony, systemd-timesyncd).");
}
