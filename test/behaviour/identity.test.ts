import { createRouter } from "@quicrpc/core/generated";
import { connect, dial, type DialOptions, serve, type ServeOptions, type Server } from "@quicrpc/node";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { certificate, type TestCertificate } from "../../packages/quic/test/certificates.js";
import { kindsFor } from "./kinds.js";
import { methods } from "./service.js";

const { echo } = methods;
/** Where the servers listen, by kind; and by what codes the wrong certificate is named there. */
const KINDS = new Map([
  ["QUIC", { url: "quic://127.0.0.1:0", codes: "ERR_QUIC_CERTIFICATE_" }],
  ["WebTransport", { url: "https://127.0.0.1:0/rpc", codes: "ERR_QUIC_CERTIFICATE_" }],
  ["TLS", { url: "tls://127.0.0.1:0", codes: "" }],
  ["WebSocket over TLS", { url: "wss://127.0.0.1:0/rpc", codes: "" }],
]);

describe.each(kindsFor("C68"))("identity: $name", ({ name }) => {
  const { url, codes } = KINDS.get(name) as { url: string; codes: string };
  const engine = codes !== "";
  let authority: TestCertificate;
  let own: TestCertificate;
  let alice: TestCertificate;
  let server: Server | undefined;
  beforeAll(async () => {
    authority = await certificate({ ca: true });
    own = await certificate({ issuer: authority });
    alice = await certificate({ issuer: authority, names: ["alice.example"] });
  });
  afterEach(async () => {
    await server?.close();
  });

  async function served(options: Partial<ServeOptions> = {}): Promise<string> {
    server = await serve({
      listen: [url],
      tls: { cert: own.cert, key: own.key },
      authenticate: ({ certificate: shown }) => shown?.subject ?? "nobody",
      routers: [createRouter({ echo }, { echo: (_, { connection }) => ({ text: String(connection) }) })],
      ...options,
    });
    return server.urls[0] as string;
  }

  /** Why a call cannot be made, or a session. A failure that waiting cannot mend does not wait. */
  async function refusal(at: string, options: DialOptions): Promise<Error & { code: string }> {
    try {
      const connection = await connect(at, {
        reconnect: false,
        ...options,
        advanced: { serverName: "localhost", ...options.advanced },
      });
      await connection.unary(echo, { text: "" });
    } catch (error) {
      return error as Error & { code: string };
    }
    throw new Error("it went well");
  }

  it("C67 a certificate of another hash", async () => {
    const serverCertificateHashes = [{ algorithm: "sha-256" as const, value: new Uint8Array(32) }];
    const error = await refusal(await served(), { serverCertificateHashes });
    expect(error.code).toMatch(/^ERR_(QUIC|TLS)_CERTIFICATE_HASH_MISMATCH$/);
    expect(error.message).toMatch(/hash/i);
  });

  it("C67 a certificate that no root vouches for", async () => {
    const other = await certificate({ ca: true, names: ["another authority"] });
    const error = await refusal(await served(), { ca: other.cert });
    expect(error.code).toBe(engine ? `${codes}UNTRUSTED` : "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });

  it("C67 a certificate for another name", async () => {
    const error = await refusal(await served(), { ca: authority.cert, advanced: { serverName: "example.org" } });
    expect(error.code).toBe(engine ? `${codes}NAME` : "ERR_TLS_CERT_ALTNAME_INVALID");
    expect(error.message).toContain("example.org");
  });

  it("C67 no client certificate where one is required, and one of another authority", async () => {
    const at = await served({ advanced: { clientCertificates: { ca: authority.cert } } });
    const none = await refusal(at, { ca: authority.cert });
    expect(`${none.code} ${none.message}`).toMatch(/certificate.(is.)?required/i);
    const stranger = await certificate({ issuer: await certificate({ ca: true }), names: ["mallory.example"] });
    const wrong = await refusal(at, { ca: authority.cert, cert: stranger.cert, key: stranger.key });
    expect(`${wrong.code} ${wrong.message}`).toMatch(/certificate is not accepted|not accept this side's certificate/);
  });

  it("C68 mutual TLS identity is visible to the handler", async () => {
    const at = await served({ advanced: { clientCertificates: { ca: authority.cert } } });
    const client = await dial(at, {
      ca: authority.cert,
      cert: alice.cert,
      key: alice.key,
      advanced: { serverName: "localhost" },
    });
    for (const via of ["lane", "stream"] as const) {
      expect(await client.unary(echo, { text: "" }, { via })).toEqual({ text: "CN=alice.example" });
    }
    await client.close();
  });

  it("a certificate that is not required may be missing, but not wrong", async () => {
    const at = await served({ advanced: { clientCertificates: { ca: authority.cert, required: false } } });
    const client = await dial(at, { ca: authority.cert, advanced: { serverName: "localhost" } });
    expect(await client.unary(echo, { text: "" })).toEqual({ text: "nobody" });
    await client.close();
    const stranger = await certificate({ issuer: await certificate({ ca: true }), names: ["mallory.example"] });
    const wrong = await refusal(at, { ca: authority.cert, cert: stranger.cert, key: stranger.key });
    expect(wrong.message).toMatch(/certificate is not accepted|not accept this side's certificate/);
  });
});
