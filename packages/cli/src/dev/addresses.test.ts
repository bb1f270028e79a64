import { expect, it } from "vitest";
import { urlPortOf, reachableUrls, withPort } from "./addresses.js";

const address = (family: "IPv4" | "IPv6", text: string, internal = false) => ({
  address: text,
  family,
  internal,
  netmask: "",
  mac: "",
  cidr: null,
  scopeid: 0,
});
const interfaces = {
  lo: [address("IPv4", "127.0.0.1", true)],
  eth0: [address("IPv4", "192.0.2.7"), address("IPv6", "2001:db8::7"), address("IPv6", "fe80::1")],
};

it("names every interface of a server that listens on all", () => {
  expect(reachableUrls("quic://0.0.0.0:4433", interfaces)).toEqual(["quic://localhost:4433", "quic://192.0.2.7:4433"]);
  expect(reachableUrls("https://[::]:4433/rpc", interfaces)).toEqual([
    "https://localhost:4433/rpc",
    "https://192.0.2.7:4433/rpc",
    "https://[2001:db8::7]:4433/rpc",
  ]);
  expect(reachableUrls("tls://127.0.0.1:1", interfaces)).toEqual(["tls://127.0.0.1:1"]);
  expect(reachableUrls("unix:/run/a", interfaces)).toEqual(["unix:/run/a"]);
});

it("changes ports", () => {
  expect(withPort("wss://[::1]:4433/rpc?a=1", 5)).toBe("wss://[::1]:5/rpc?a=1");
  expect(withPort("unix:/run/a", 5)).toBe("unix:/run/a");
  expect([urlPortOf("tcp://a:7"), urlPortOf("unix:/run/a")]).toEqual([7, 0]);
});
