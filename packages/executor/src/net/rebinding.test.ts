// A resolver and a server that lie (docs/reference/security.md#t10): a name that is public when it is looked at and private when
// it is dialed, answers that are both, redirects inwards. The real guard and the real URL rules; only the port is let through,
// since a test cannot listen on 80.
//
//   L1. 127.0.0.1, where the server of the test listens, stands for a public address here. Everything else is judged as it is.
//   L2. An address inside is never dialed: the refusal is `url_not_allowed`, not a connection that failed.

import type { IncomingHttpHeaders } from "node:http";
import { systemClock } from "@tessera/engines/system";
import type { Dispatcher } from "undici";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startBench } from "../../test/builtin-bench.ts";
import { type Loopback, startLoopback } from "../../test/loopback.ts";
import { REFUSED_URLS } from "../../test/refused-urls.ts";
import { checkUrl } from "./check-url.ts";
import { createGuardedAgent, type ResolvedAddress } from "./guarded-agent.ts";
import { type HttpAnswer, httpCall } from "./http-call.ts";
import { isPublicAddress } from "./public-address.ts";

const STAND_IN = "127.0.0.1"; // L1
const v4 = (address: string): ResolvedAddress => ({ address, family: 4 });
const v6 = (address: string): ResolvedAddress => ({ address, family: 6 });
const PUBLIC = v4(STAND_IN);

let server: Loopback;
let agent: Dispatcher;
/** What each name resolves to: the n-th answer to the n-th question, the last one from then on. */
let names: Record<string, readonly (readonly ResolvedAddress[])[]>;
let asked: string[];
let seen: { readonly host: string; readonly path: string; readonly headers: IncomingHttpHeaders }[];
/** Where each path redirects to. */
let redirects: Record<string, string>;

beforeEach(async () => {
  [names, asked, seen, redirects] = [{}, [], [], {}];
  server = await startLoopback(({ headers, url = "" }, response) => {
    seen.push({ host: headers.host ?? "", path: url, headers });
    const location = redirects[url];
    response.writeHead(location === undefined ? 200 : 302, {
      connection: "close", // the next request must dial again
      ...(location === undefined ? {} : { location }),
    });
    response.end("hello");
  });
  agent = createGuardedAgent({
    resolve: async (hostname) => {
      asked.push(hostname);
      const answers = names[hostname] ?? [];
      return answers[Math.min(asked.filter((name) => name === hostname).length, answers.length) - 1] ?? [];
    },
    isAllowed: (address) => address === STAND_IN || isPublicAddress(address),
  });
});
afterEach(async () => {
  await agent.destroy();
  await server.close();
});

const at = (host: string, path = "/") => `http://${host}:${server.port}${path}`;

function fetched(url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
  return httpCall({
    ...{ url: new URL(url), method: "GET", headers, timeoutMs: 20_000, bytesMax: 1_000, redirectsMax: 3 },
    ...{ signal: new AbortController().signal, dispatcher: agent, clock: systemClock },
    allow: (asked) => {
      const plain = new URL(asked.href);
      if (plain.port === String(server.port)) plain.port = "";
      checkUrl(plain, { hosts: "public", allowHttp: true });
    },
  });
}
const REFUSED = { code: "url_not_allowed" };

describe("a resolver that answers", () => {
  it("public first and private then gets one connection, to the public address, and no second one", async () => {
    names = { "rebind.example": [[PUBLIC], [v4("169.254.169.254")]] };
    redirects = { "/": "/again" };
    await expect(fetched(at("rebind.example"))).rejects.toMatchObject(REFUSED);
    expect(asked).toEqual(["rebind.example", "rebind.example"]);
    expect(seen.map(({ path }) => path)).toEqual(["/"]);
    await expect(fetched(at("rebind.example"))).rejects.toMatchObject(REFUSED);
    expect(seen).toHaveLength(1);
  });

  it("once per dial, and it is that answer which is dialed", async () => {
    names = { "rebind.example": [[PUBLIC], [v4("10.0.0.7")]] };
    expect(await fetched(at("rebind.example"))).toMatchObject({ status: 200 });
    expect(asked).toEqual(["rebind.example"]);
  });

  it.each<[string, readonly ResolvedAddress[]]>([
    ["public, then private", [PUBLIC, v4("10.0.0.7")]],
    ["private, then public", [v4("10.0.0.7"), PUBLIC]],
    ["public and the loopback of IPv6", [PUBLIC, v6("::1")]],
    ["public and a mapped address", [PUBLIC, v6("::ffff:10.0.0.7")]],
    ["public and a translated address", [PUBLIC, v6("64:ff9b::a9fe:a9fe")]],
    ["public and 6to4 of a private one", [PUBLIC, v6("2002:a00:7::")]],
    ["public and link-local with a zone", [PUBLIC, v6("fe80::1%eth0")]],
    ["public and something that is no address", [PUBLIC, v4("localhost")]],
  ])("%s in one answer is refused whole", async (_, addresses) => {
    names = { "mixed.example": [addresses] };
    await expect(fetched(at("mixed.example"))).rejects.toMatchObject(REFUSED);
    expect(seen).toEqual([]);
  });

  it.each([
    "10.0.0.7",
    "127.0.0.53",
    "169.254.169.254",
    "100.100.100.200",
    "0.0.0.0",
    "::1",
    "fd00:ec2::254",
    "::7f00:1",
  ])("for an alias of something inside, %s, is refused", async (address) => {
    names = { "cname.example": [[address.includes(":") ? v6(address) : v4(address)]] };
    await expect(fetched(at("cname.example"))).rejects.toMatchObject(REFUSED);
    expect(seen).toEqual([]);
  });
});

describe("a server that redirects", () => {
  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "http://metadata.google.internal/",
    "http://[::ffff:169.254.169.254]/",
    "http://2852039166/",
    "//127.0.0.1/",
    "http://localhost/",
    "http://user:pw@public.example/",
    "http://public.example:25/",
    "file:///etc/passwd",
    "gopher://public.example/",
    "http://inside.example/",
  ])("to %s is not followed", async (location) => {
    names = { "public.example": [[PUBLIC]], "inside.example": [[v4("192.168.1.1")]] };
    redirects = { "/": location };
    await expect(fetched(at("public.example"))).rejects.toMatchObject(REFUSED);
    expect(seen).toHaveLength(1);
  });

  it("to another origin gets none of the caller's headers, credentials by any name", async () => {
    names = { "public.example": [[PUBLIC]], "other.example": [[PUBLIC]] };
    redirects = { "/": at("other.example", "/there"), "/there": at("public.example", "/back") };
    const secrets = { authorization: "Bearer s3cret", cookie: "s3cret", "x-api-key": "s3cret", "x-anything": "s3cret" };
    expect(await fetched(at("public.example"), secrets)).toMatchObject({ status: 200 });
    expect(seen.map(({ path }) => path)).toEqual(["/", "/there", "/back"]);
    expect(seen[0]?.headers).toMatchObject(secrets);
    for (const { headers } of seen.slice(1)) expect(JSON.stringify(headers)).not.toContain("s3cret");
  });

  it("four times is not followed to the end", async () => {
    names = { "public.example": [[PUBLIC]] };
    redirects = { "/": "/1", "/1": "/2", "/2": "/3", "/3": "/4" };
    await expect(fetched(at("public.example"))).rejects.toMatchObject({ code: "upstream_unavailable" });
    expect(seen.map(({ path }) => path)).toEqual(["/", "/1", "/2", "/3"]);
  });
});

describe("the tool http-fetch", () => {
  it.each(["get", "post"])("%s refuses every URL of the table, and asks no resolver about it", async (method) => {
    const bench = startBench({ clock: systemClock, http: { dispatcher: agent, allowHttp: true } });
    const codes = new Map<string, string | undefined>();
    for (const url of REFUSED_URLS) {
      // The schema speaks first about length.
      if (url === "" || url.length > 8_192) continue;
      codes.set(url, await bench.code(`http-fetch__${method}`, { url }));
    }
    await bench[Symbol.asyncDispose]();
    expect(codes.size).toBeGreaterThan(80);
    expect([...codes].filter(([, code]) => code !== "url_not_allowed")).toEqual([]);
    expect([asked, seen]).toEqual([[], []]);
  });
});
