// Which names this server answers to. A web page that was let in by a name of its own (DNS rebinding) says so in `Host`,
// and one that sends requests across sites says so in `Origin`; neither gets any further.
//
//   G1. Loopback names always count, and the address that is listened on, and what the operator allows. Nothing else.
//   G2. `Origin` is checked only when it is there: programs send none, browsers always do. `null` is an origin.

import { HttpRefusal } from "../routing/problem.ts";

export interface HostGuard {
  /** Throws 400, 421 or 403. */
  check(headers: { readonly host?: string | undefined; readonly origin?: string | undefined }): void;
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const ANY_ADDRESS = new Set(["0.0.0.0", "::", "[::]"]);
const AUTHORITY = /^(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?$/;
const ORIGIN = /^https?:\/\/(.+)$/;

export function createHostGuard(listenHost: string, allowedHosts: readonly string[] = []): HostGuard {
  const own = ANY_ADDRESS.has(listenHost) ? [] : [listenHost.includes(":") ? `[${listenHost}]` : listenHost];
  const names = new Set([...LOOPBACK, ...own, ...allowedHosts].map((name) => name.toLowerCase()));
  const isOurs = (authority: string) => {
    const name = AUTHORITY.exec(authority)?.[1];
    return name !== undefined && names.has(name.toLowerCase());
  };
  return {
    check({ host, origin }) {
      if (host === undefined) throw namesNoHost();
      if (!isOurs(host)) {
        throw new HttpRefusal("origin_not_allowed", "this server does not answer to the name in Host", { status: 421 });
      }
      if (origin === undefined) return; // G2
      const authority = ORIGIN.exec(origin)?.[1];
      if (authority === undefined || !isOurs(authority)) {
        throw new HttpRefusal("origin_not_allowed", "requests from this Origin are not accepted");
      }
    },
  };
}

/** What does not say a Host is hardly HTTP/1.1: nothing more is read from it. */
function namesNoHost(): HttpRefusal {
  return new HttpRefusal("bad_request", "the request says no Host", { headers: { connection: "close" } });
}
