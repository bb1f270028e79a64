import { expect, it } from "vitest";
import { type DnsResolver, dnsTargets } from "./dns-targets.js";

const { signal } = new AbortController();

function resolver(records: Partial<Record<"A" | "AAAA", string[]>>): DnsResolver {
  const answer = async (type: "A" | "AAAA"): Promise<string[]> => {
    const found = records[type];
    if (found === undefined) throw Object.assign(new Error(`query${type} ENODATA`), { code: "ENODATA" });
    return found;
  };
  return {
    resolve4: () => answer("A"),
    resolve6: () => answer("AAAA"),
    resolveSrv: async () => [
      { name: "one.example", port: 4433, priority: 1, weight: 9 },
      { name: "two.example", port: 4434, priority: 1, weight: 0 },
      { name: "spare.example", port: 4435, priority: 2, weight: 0 },
      { name: ".", port: 0, priority: 0, weight: 0 },
    ],
  };
}

it("A and AAAA: a target for each address, whichever there are", async () => {
  const both = dnsTargets("quic://orders.example:4433", { resolver: resolver({ A: ["1.2.3.4"], AAAA: ["::5"] }) });
  expect(both.serverName).toBe("orders.example");
  expect(await both.resolve(signal)).toEqual(["quic://1.2.3.4:4433", "quic://[::5]:4433"]);
  const one = dnsTargets("quic://orders.example", { resolver: resolver({ AAAA: ["::5"] }) });
  expect(await one.resolve(signal)).toEqual(["quic://[::5]"]);
  const none = dnsTargets("quic://orders.example", { resolver: resolver({}) });
  await expect(none.resolve(signal)).rejects.toMatchObject({
    name: "TransportError",
    code: "ENODATA",
    url: "quic://orders.example",
    message: expect.stringMatching(/^cannot connect to quic:\/\/orders\.example: query/),
    hint: expect.stringContaining("hosts file"),
  });
});

it("only A, only AAAA; the path stays", async () => {
  const found = resolver({ A: ["1.2.3.4"], AAAA: ["::5"] });
  const a = dnsTargets("wss://orders.example/rpc?x=1", { records: "A", resolver: found });
  expect(await a.resolve(signal)).toEqual(["wss://1.2.3.4/rpc?x=1"]);
  const aaaa = dnsTargets("wss://orders.example/rpc", { records: "AAAA", resolver: found });
  expect(await aaaa.resolve(signal)).toEqual(["wss://[::5]/rpc"]);
});

it("SRV: hosts and ports with their priorities and weights, held to the certificate of the domain", async () => {
  const targets = dnsTargets("quic://_orders._udp.example.com", { records: "SRV", resolver: resolver({}) });
  expect(targets.serverName).toBe("example.com");
  expect(await targets.resolve(signal)).toEqual([
    { target: "quic://one.example:4433", priority: 1, weight: 9 },
    // Chosen very rarely if another target has a weight, and equally often if none has.
    { target: "quic://two.example:4434", priority: 1, weight: 0.01 },
    { target: "quic://spare.example:4435", priority: 2, weight: 1 },
  ]);
});
