import { describe, expect, it } from "vitest";
import { checkUrl, parseUrl, URL_POLICY_DEFAULT, type UrlPolicy } from "./check-url.ts";

const WITH_HTTP: UrlPolicy = { hosts: "public", allowHttp: true };

function ask(text: string, policy: UrlPolicy = WITH_HTTP): void {
  checkUrl(parseUrl(text), policy);
}

// T10. Every row is asked with http allowed, so that it is the host that gets refused and not the scheme.
const REFUSED = [
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0x7f.1/",
  "http://0177.0.0.1/",
  "http://017700000001/",
  "http://①②⑦.⓪.⓪.①/",
  "http://127。0。0。1/",
  "http://127.0.0.1./",
  "http://0/",
  "http://0.0.0.0/",
  "http://10.1.2.3/",
  "http://172.20.0.1/",
  "http://192.168.0.1/",
  "http://100.64.1.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://0xa9fea9fe/",
  "http://2852039166/",
  "http://198.18.0.1/",
  "http://224.0.0.1/",
  "http://255.255.255.255/",
  "http://[::]/",
  "http://[::1]/",
  "http://[::127.0.0.1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[64:ff9b:1::1]/",
  "http://[2002:7f00:1::]/",
  "http://[2001::1]/",
  "http://[fe80::1]/",
  "http://[fec0::1]/",
  "http://[fd00:ec2::254]/",
  "http://localhost/",
  "http://LOCALHOST/",
  "http://localhost./",
  "http://ｌｏｃａｌｈｏｓｔ/",
  "http://a.localhost/",
  "http://printer.local/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://metadata.google.internal./",
  "http://metadata.goog/",
  "http://kubernetes.default.svc/",
  "http://metadata/",
  "http://intranet/",
  "http://user:pw@example.com/",
  "http://user@example.com/",
  "http://example.com:25/",
  "http://example.com:443/",
  "https://example.com:80/",
  "https://example.com:8443/",
  "http://exa\tmple.com/",
  "http://exa\nmple.com/",
  " http://example.com/",
  "http://example.com\\@127.0.0.1/",
  "http://example.com/a b",
  "file:///etc/passwd",
  "gopher://example.com/",
  "data:text/plain,x",
  "ftp://example.com/",
  "ws://example.com/",
  "javascript:alert(1)",
  "//example.com/",
  "example.com",
  "/etc/passwd",
  "",
  `https://example.com/${"x".repeat(9_000)}`,
];

describe("checkUrl", () => {
  it.each(REFUSED)("refuses %j", (text) => {
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
