import { describe, expect, it } from "vitest";
import { createClientAddresses } from "./client-address.ts";

const from = (remoteAddress: string, forwarded?: string | string[]) =>
  ({ socket: { remoteAddress }, headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded } }) as never;

describe("the address of a client", () => {
  it("is that of the connection, whatever it says, where no proxy is trusted", () => {
    const { of } = createClientAddresses();
    expect(of(from("203.0.113.9", "198.51.100.1"))).toBe("203.0.113.9");
    expect(of(from("127.0.0.1", "198.51.100.1"))).toBe("127.0.0.1");
  });

  it("is what the last trusted proxy heard, and never what the client wrote before it", () => {
    const { of } = createClientAddresses(["10.0.0.0/8", "::1"]);
    expect(of(from("10.1.2.3", "198.51.100.1"))).toBe("198.51.100.1");
    expect(of(from("10.1.2.3", "1.1.1.1, 198.51.100.1"))).toBe("198.51.100.1");
    expect(of(from("10.1.2.3", "1.1.1.1, 198.51.100.1, 10.9.9.9"))).toBe("198.51.100.1");
    expect(of(from("10.1.2.3", ["1.1.1.1", "198.51.100.1"]))).toBe("198.51.100.1");
    expect(of(from("::1", "198.51.100.1"))).toBe("198.51.100.1");
    expect(of(from("::ffff:10.1.2.3", "198.51.100.1"))).toBe("198.51.100.1");
    expect(of(from("203.0.113.9", "198.51.100.1"))).toBe("203.0.113.9");
  });

  it("stays that of the proxy which passed on what is no address, or nothing", () => {
    const { of } = createClientAddresses(["10.0.0.0/8"]);
    for (const said of [
      undefined,
      "",
      "unknown",
      "198.51.100.1, evil",
      "198.51.100.1, 1.2.3.4:80",
      `${"x,".repeat(9_000)}`,
    ]) {
      expect(of(from("10.1.2.3", said)), String(said).slice(0, 30)).toBe("10.1.2.3");
    }
    expect(of(from("10.1.2.3", "evil, 10.4.4.4"))).toBe("10.4.4.4");
    expect(of(from("10.1.2.3", Array(100).fill("10.0.0.1").join(",")))).toBe("10.0.0.1");
  });

  it("is the network of 64 bits for IPv6, and IPv4 where that is meant", () => {
    const { of } = createClientAddresses();
    expect(of(from("2001:db8:1:2:3:4:5:6"))).toBe("2001:db8:1:2::/64");
    expect(of(from("2001:0DB8:1:2::9"))).toBe("2001:db8:1:2::/64");
    expect(of(from("2001:db8::9"))).toBe("2001:db8:0:0::/64");
    expect(of(from("::1"))).toBe("0:0:0:0::/64");
    expect(of(from("fe80::1%eth0"))).toBe("fe80:0:0:0::/64");
    expect(of(from("64:ff9b::192.0.2.33"))).toBe("64:ff9b:0:0::/64");
    expect(of(from("::ffff:192.0.2.1"))).toBe("192.0.2.1");
  });

  it("cannot be asked for with proxies that are no addresses", () => {
    for (const proxy of ["proxy.example", "10.0.0.0/33", "::/129", "", "10.0.0.0/8/8", "true"]) {
      expect(() => createClientAddresses([proxy]), proxy).toThrow("is neither an address nor a network");
    }
  });
});
