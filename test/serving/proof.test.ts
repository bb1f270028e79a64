// A token that names a key is worth nothing without that key, over every transport of `serve`.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { type CallContext, RpcError, type Session } from "@quicrpc/core";
import { createRouter } from "@quicrpc/core/generated";
import { createProofKeys, keyThumbprint, type Proof, type ProofKeys, prover } from "@quicrpc/core/proof";
import { httpTransport } from "@quicrpc/http";
import { connect, devCertificate, dial, type DialOptions, type Peer, serve, type ServeOptions } from "@quicrpc/node";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { trustOf } from "../../packages/node/test/trust.js";
import { methods } from "../behaviour/service.js";
import { closedAfterEach } from "../open.js";
import { LISTENERS } from "./listeners.js";

const open = closedAfterEach();
const { echo } = methods;
const router = createRouter({ echo }, { echo: (_, { connection }: CallContext) => ({ text: String(connection) }) });

let keys: ProofKeys;
let thumbprint: string;
beforeAll(async () => {
  keys = await createProofKeys();
  thumbprint = await keyThumbprint(keys);
});

describe.each(LISTENERS)("proof of a key over $name", (way) => {
  const { options: over } = way;
  const encrypted = !/^(tcp|ws|unix):/.test(way.listen);
  const shown = encrypted && over.advanced === undefined;

  async function served(
    options: Partial<ServeOptions<string>> = {},
  ): Promise<{ url: string; dialling: DialOptions; proofs: (Proof | undefined)[]; sessions: Session[] }> {
    const tls = await devCertificate();
    const proofs: (Proof | undefined)[] = [];
    const sessions: Session[] = [];
    const server = await serve<string>({
      listen: [way.listen],
      tls: { cert: tls.cert, key: tls.key },
      routers: [router],
      // The token says which key may use it, as `cnf.jkt` of a JWT does.
      authenticate: async (peer: Peer) => {
        const [user = "", key] = ((await peer.credentials) ?? "").split(" ");
        const proof = await peer.proof;
        proofs.push(proof);
        if (proof?.thumbprint !== key) throw new RpcError("unauthenticated", "the token is of another key");
        return user;
      },
      ...over,
      ...options,
      advanced: { onSession: (session) => void sessions.push(session), ...over.advanced, ...options.advanced },
    });
    open.push(server);
    const url = server.urls[0] as string;
    return { url, dialling: { ...trustOf(url, tls), ...over }, proofs, sessions };
  }

  it("lets in who has the key, bound to the connection where that is encrypted", async () => {
    const { url, dialling, proofs } = await served();
    const session = await dial(url, {
      ...dialling,
      credentials: `ann ${thumbprint}`,
      advanced: { ...dialling.advanced, proof: prover(keys) },
    });
    open.push(session);
    expect(await session.unary(echo, { text: "x".repeat(300_000) })).toEqual({ text: "ann" });
    expect(proofs).toEqual([{ thumbprint, algorithm: "ES256", bound: shown, audience: url }]);
  });

  it("refuses a stolen token, with another key and without one", async () => {
    const { url, dialling } = await served();
    for (const proof of [prover(await createProofKeys()), undefined]) {
      const session = await dial(url, {
        ...dialling,
        credentials: `ann ${thumbprint}`,
        advanced: { ...dialling.advanced, ...(proof && { proof }) },
      });
      open.push(session);
      await expect(session.unary(echo, { text: "" })).rejects.toMatchObject({
        code: "unauthenticated",
        message: expect.stringContaining("another key"),
      });
    }
  });

  it("is asked for again by each session, and with new credentials", async () => {
    const { url, dialling, proofs, sessions } = await served({ advanced: { subjectOf: () => "ann" } });
    let asked = 0;
    const connection = await connect(url, {
      ...dialling,
      credentials: () => `ann${++asked} ${thumbprint}`,
      advanced: { ...dialling.advanced, proof: prover(keys), backoff: { initialMs: 1 } },
    });
    open.push(connection);
    expect(await connection.unary(echo, { text: "" })).toEqual({ text: "ann1" });
    await sessions[0]?.drain();
    expect(await connection.unary(echo, { text: "" })).toEqual({ text: "ann2" });
    // Renewals that the server demands are spread at random.
    const random = vi.spyOn(Math, "random").mockReturnValue(0);
    sessions[1]?.demandCredentials();
    await expect.poll(() => connection.unary(echo, { text: "" }), { timeout: 10_000 }).toEqual({ text: "ann3" });
    random.mockRestore();
    expect(proofs.map((proof) => [proof?.thumbprint, proof?.bound])).toEqual(
      Array.from({ length: 3 }, () => [thumbprint, shown]),
    );
    expect(sessions).toHaveLength(2);
  });

  it("holds no place for a client that does not answer", async () => {
    const { url, dialling } = await served({ limits: { maxHandshakeMs: 400 } });
    const proof = {
      fields: prover(keys).fields,
      follow: () => ({ onFrame() {}, onUnauthenticated() {}, stop() {} }),
      prove: async () => undefined,
      proven: async () => {},
    };
    const session = await dial(url, { ...dialling, credentials: "ann", advanced: { ...dialling.advanced, proof } });
    open.push(session);
    await session.closed;
    await expect(session.unary(echo, { text: "" })).rejects.toMatchObject({ code: "deadline_exceeded" });
  });
});

it("a proxy that ends TLS can be told from none: the proof holds, and is not bound", async () => {
  const tls = await devCertificate();
  const proofs: (Proof | undefined)[] = [];
  const server = await serve<string>({
    listen: ["tls://127.0.0.1:0"],
    tls: { cert: tls.cert, key: tls.key },
    routers: [router],
    authenticate: async ({ proof }) => {
      proofs.push(await proof);
      if ((await proof)?.bound !== true) throw new RpcError("unauthenticated", "come without a proxy");
      return "ann";
    },
  });
  open.push(server);
  const proxy = createTlsServer({ cert: tls.cert, key: tls.key, ALPNProtocols: ["quicrpc/1"] }, (near) => {
    const far = connectTls({ port: server.address.port, rejectUnauthorized: false, ALPNProtocols: ["quicrpc/1"] });
    near.pipe(far).pipe(near);
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  open.push({ close: () => proxy.close() });
  const url = `tls://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const session = await dial(url, { serverCertificateHashes: [tls.hash], advanced: { proof: prover(keys) } });
  open.push(session);
  await expect(session.unary(echo, { text: "" })).rejects.toMatchObject({ message: expect.stringContaining("proxy") });
  expect(proofs).toEqual([{ thumbprint, algorithm: "ES256", bound: false, audience: url }]);
});

it("a signal ends the wait for a server that never lets the client in", async () => {
  const server = await serve({
    listen: ["tcp://127.0.0.1:0"],
    routers: [router],
    authenticate: () => new Promise(() => {}),
    limits: { maxHandshakeMs: 60_000 },
  });
  open.push(server);
  const url = server.urls[0] as string;
  const controller = new AbortController();
  const aborted = dial(url, { signal: controller.signal, advanced: { proof: prover(keys) } });
  // Once it has reached the server.
  await expect.poll(() => server.stats().authentications).toBe(1);
  controller.abort(new Error("not any more"));
  await expect(aborted).rejects.toThrow("not any more");
});

it("plain HTTP has no proofs, and says so, as a fallback too", async () => {
  const refused =
    "the option proof cannot travel to http://127.0.0.1:1 by HTTP, which has no sessions, in which a client proves its key: leave it out, or connect by a transport with sessions, such as WebTransport or a WebSocket";
  const options = { advanced: { proof: prover(keys), transports: [httpTransport()] } };
  await expect(dial("http://127.0.0.1:1", options)).rejects.toThrow(new TypeError(refused));
  const fallback = { url: "http://127.0.0.1:1" };
  await expect(connect("tcp://127.0.0.1:1", { ...options, fallback })).rejects.toThrow(new TypeError(refused));
});
