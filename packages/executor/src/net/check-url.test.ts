// T10: each URL of the table is refused by its text alone, with http allowed, so that it is the host that gets refused and not the scheme.

import { describe, expect, it } from "vitest";
import { REFUSED_URLS } from "../../test/refused-urls.ts";
import { checkUrl, parseUrl, URL_POLICY_DEFAULT, type UrlPolicy } from "./check-url.ts";

const WITH_HTTP: UrlPolicy = { hosts: "public", allowHttp: true };

function ask(text: string, policy: UrlPolicy = WITH_HTTP): void {
  checkUrl(parseUrl(text), policy);
}

describe("checkUrl", () => {
  it.each(REFUSED_URLS)("refuses %j", (text) => {
    expect(() => ask(text)).toThrowError(expect.objectContaining({ code: "url_not_allowed" }));
  });

  it.each([
    "https://example.com/",
    "https://example.com:443/a?b=c#d",
    "https://EXAMPLE.com./",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "https://bücher.example/",
    "http://example.com:80/",
  ])("lets %j through", (text) => {
    expect(() => ask(text)).not.toThrow();
  });

  it("takes time in proportion to a host of dots", () => {
    const url = { hostname: `${".".repeat(200_000)}x`, protocol: "https:", port: "", username: "", password: "" };
    const started = process.cpuUsage();
    try {
      checkUrl(url as URL, WITH_HTTP);
    } catch {
      // whether it is refused is another question
    }
    expect(process.cpuUsage(started).user / 1e3).toBeLessThan(1_000);
  });

  it("takes http only where the operator opted in", () => {
    expect(() => ask("http://example.com/", URL_POLICY_DEFAULT)).toThrowError(
      expect.objectContaining({ code: "url_not_allowed" }),
    );
  });

  it("with a list of hosts, takes these and the ones below a star, and no look-alike", () => {
    const policy: UrlPolicy = { hosts: ["api.example.com", "*.example.org"], allowHttp: false };
    for (const good of ["https://api.example.com/", "https://API.example.com./x", "https://a.b.example.org/"]) {
      expect(() => ask(good, policy), good).not.toThrow();
    }
    for (const bad of [
      "https://example.com/",
      "https://example.org/",
      "https://evil-example.org/",
      "https://api.example.com.evil.net/",
      "https://xapi.example.com/",
      "https://8.8.8.8/",
    ]) {
      expect(() => ask(bad, policy), bad).toThrowError(expect.objectContaining({ code: "url_not_allowed" }));
    }
  });

  it("never opens a private host, even when a list names it", () => {
    const policy: UrlPolicy = { hosts: ["localhost", "127.0.0.1"], allowHttp: true };
    expect(() => ask("http://localhost/", policy)).toThrow();
    expect(() => ask("http://127.0.0.1/", policy)).toThrow();
  });

  it("keeps credentials out of its message", () => {
    expect(() => ask("https://user:hunter2@example.com/")).toThrowError(/^(?!.*hunter2).*credentials/);
  });
});
