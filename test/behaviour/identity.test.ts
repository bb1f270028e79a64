import { createRouter } from "@quicrpc/core";
import { dial, serve } from "@quicrpc/node";
import { describe, expect, it } from "vitest";
import { certificate } from "../../packages/quic/test/certificates.js";
import { kindsFor } from "./kinds.js";
import { methods } from "./service.js";

const { echo } = methods;
const URLS = new Map([
  ["QUIC", "quic://127.0.0.1:0"],
  ["WebTransport", "https://127.0.0.1:0/rpc"],
  ["TLS", "tls://127.0.0.1:0"],
  ["WebSocket over TLS", "wss://127.0.0.1:0/rpc"],
]);

describe.each(kindsFor("C68"))("identity: $name", ({ name }) => {
  it("C68 mutual TLS identity is visible to the handler", async () => {
    const authority = await certificate({ ca: true });
    const own = await certificate({ issuer: authority });
    const alice = await certificate({ issuer: authority, names: ["alice.example"] });
    const router = createRouter({ echo }, { echo: (_, { connection }) => ({ text: String(connection) }) });
    const server = await serve({
      listen: [URLS.get(name) ?? `no URL for ${name}`],
      tls: { cert: own.cert, key: own.key },
      clientCertificates: { ca: authority.cert },
      authenticate: ({ certificate: shown }) => shown?.subject ?? "nobody",
      routers: [router],
    });
    try {
      const client = await dial(server.urls[0] as string, {
        ca: authority.cert,
        serverName: "localhost",
        cert: alice.cert,
        key: alice.key,
      });
      for (const via of ["lane", "stream"] as const) {
        expect(await client.unary(echo, { text: "" }, { via })).toEqual({ text: "CN=alice.example" });
      }
      await client.close();
    } finally {
      await server.close();
    }
  });
});
