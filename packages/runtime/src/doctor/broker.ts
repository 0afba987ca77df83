// The broker: is it there, is it new enough, does it keep streams, does it let everybody in.
//
// The bus only rings, so a broker that is gone makes nothing wrong, only slow; but whoever names one expects it to work.

import { natsVersionAdvice } from "@tessera/engines/nats-version";
import { systemClock } from "@tessera/engines/system";
import { streamsOf } from "@tessera/protocol";
import { natsConnection } from "../open-bus.ts";
import { type Check, checksOf, saidBy, wallMs } from "./check.ts";
import { type Greeting, greetNats } from "./nats-greeting.ts";

const broker = checksOf("broker");
export const CLOCK_DIFFERENCE_MS_MAX = 1_000;

export async function checkBroker(url: string): Promise<Check[]> {
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
  return checks;
}

export function greetingChecks(greeting: Greeting, host: string, hasLogin: boolean, name = ""): Check[] {
  const { jetstream, authRequired, refusal, timeMs } = greeting;
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
          "the server lets in whoever connects",
          "Give each role a user with its own permissions (deploy/nats.conf), and put one into the NATS URL.",
        ),
  ];
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
