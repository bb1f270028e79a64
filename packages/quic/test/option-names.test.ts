import { describe, expect, it, onTestFinished } from "vitest";
import { connect, connectWebTransport, Endpoint, PortGroup, WebTransport } from "../dist/index.js";

describe("options that are none are refused, with those that there are", () => {
  const bound = (): Endpoint => {
    const endpoint = Endpoint.bind({ host: "127.0.0.1" });
    onTestFinished(() => endpoint.close());
    return endpoint;
  };
  const target = { host: "127.0.0.1", port: 9, alpn: ["a"] };

  it.each<[message: string, call: () => unknown]>([
    [
      "Endpoint.bind() has no option hostname: it has busyPoll, connectionIds, driver, host, member, offload, onError, port, reusePort, secret",
      () => Endpoint.bind({ hostname: "127.0.0.1" } as object),
    ],
    [
      "Endpoint.listen() has no option webTransport.protocol: it has maxSessionsPerConnection, onRequest, protocols",
      () => bound().listen({ webTransport: { protocol: "" } } as never, () => {}),
    ],
    [
      "Endpoint.listen() has no option clientCertificates.require: it has ca, required",
      () => bound().listen({ clientCertificates: { require: false } } as never, () => {}),
    ],
    ["Endpoint.rebind() has no option address: it has host, port", () => bound().rebind({ address: "" } as object)],
    ["connect() has no option ca: it has alpn,", () => connect({ ...target, ca: "" } as never)],
    [
      "connect() has no option transport.maxStream: it has idleTimeoutMs,",
      () => connect({ ...target, transport: { maxStream: 1 } as object }),
    ],
    [
      "connectWebTransport() has no option serverCertificateHashes: it has allowPooling,",
      () => connectWebTransport("https://127.0.0.1:9/", { serverCertificateHashes: [] } as object),
    ],
    ["PortGroup.bind() has no option workers: it has", () => PortGroup.bind({ workers: 2 } as never)],
    ["PortGroup.inherit() has no option sockets: it has", () => PortGroup.inherit({ sockets: [] } as never)],
  ])("%s", async (message, call) => {
    await expect(async () => call()).rejects.toMatchObject({
      code: "ERR_QUIC_INVALID_OPTION",
      message: expect.stringContaining(message) as string,
    });
  });

  it("but for members of the W3C constructor, which passes over those it does not know, as browsers do", async () => {
    const transport = new WebTransport("https://127.0.0.1:9/", { xyzzy: 1, handshakeTimeoutMs: 1 } as object);
    await expect(transport.ready).rejects.toMatchObject({ message: expect.not.stringContaining("xyzzy") as string });
  });
});
