import { randomBytes, X509Certificate } from "node:crypto";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import type { ConnectOptions, QuicError, QuicSession, ServerTlsOptions } from "../dist/index.js";
import { certificate, type TestCertificate } from "./certificates.js";
import { ALPN, bytes, deferred, DRIVERS, echo, Endpoint, readAll, World } from "./harness.js";

let authority: TestCertificate;
let other: TestCertificate;
let alice: TestCertificate;

beforeAll(async () => {
  authority = await certificate({ ca: true });
  other = await certificate({ ca: true, names: ["other authority"] });
  alice = await certificate({ issuer: authority, names: ["alice.example", "alice.test"] });
});

describe.each(DRIVERS)("TLS, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  describe("client certificates", () => {
    async function guarded(required?: boolean) {
      const accepted = deferred<QuicSession>();
      const failed = deferred<QuicError>();
      const server = await world.serve(accepted.resolve, {
        clientCertificates: { ca: authority.cert, ...(required === undefined ? {} : { required }) },
        onHandshakeError: failed.resolve,
      });
      const pinned = { serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }] };
      return { server, pinned, accepted: accepted.promise, failed: failed.promise };
    }

    test("the identity of each side is visible to the other", async () => {
      const { server, pinned, accepted } = await guarded();
      const client = await world.dial(server, { tls: { ...pinned, cert: alice.cert, key: alice.key } });
      const { peerCertificate } = await accepted;
      expect(peerCertificate).toBeInstanceOf(X509Certificate);
      expect(peerCertificate?.subject).toBe("CN=alice.example");
      expect(peerCertificate?.subjectAltName).toBe("DNS:alice.example, DNS:alice.test");
      expect(peerCertificate?.fingerprint256.replaceAll(":", "").toLowerCase()).toBe(
        Buffer.from(alice.hash).toString("hex"),
      );
      expect(Buffer.from(alice.x509.rawData).equals(peerCertificate?.raw as Buffer)).toBe(true);
      expect(client.peerCertificate?.subject).toBe("CN=localhost");
    });

    test("a client without one is refused, and both sides say so", async () => {
      const { server, pinned, failed } = await guarded();
      await expect(world.dial(server, { tls: pinned })).rejects.toMatchObject({
        code: "ERR_QUIC_CERTIFICATE_REQUIRED",
        source: "tls",
        message: expect.stringContaining("pass one as tls.cert"),
      });
      expect(await failed).toMatchObject({ code: "ERR_QUIC_CERTIFICATE_REQUIRED", source: "tls" });
    });

    test("so is one whose certificate comes from another authority, or has expired", async () => {
      const { server, pinned, failed } = await guarded();
      const mallory = await certificate({ issuer: other });
      await expect(
        world.dial(server, { tls: { ...pinned, cert: mallory.cert, key: mallory.key } }),
      ).rejects.toMatchObject({
        code: "ERR_QUIC_CERTIFICATE_REJECTED",
        source: "tls",
        message: expect.stringContaining("unknown_ca"),
      });
      expect(await failed).toMatchObject({
        code: "ERR_QUIC_CERTIFICATE_UNTRUSTED",
        message: expect.stringContaining("clientCertificates.ca"),
      });
      const old = await certificate({ issuer: authority, from: Date.now() - 20 * 24 * 3_600_000, days: 10 });
      await expect(world.dial(server, { tls: { ...pinned, cert: old.cert, key: old.key } })).rejects.toMatchObject({
        code: "ERR_QUIC_CERTIFICATE_REJECTED",
        message: expect.stringContaining("certificate_expired"),
      });
    });

    test("where it is not required, a client without one has no identity, and a wrong one is still refused", async () => {
      const { server, pinned, accepted } = await guarded(false);
      await world.dial(server, { tls: pinned });
      expect((await accepted).peerCertificate).toBeUndefined();
      const mallory = await certificate({ issuer: other });
      await expect(
        world.dial(server, { tls: { ...pinned, cert: mallory.cert, key: mallory.key } }),
      ).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_REJECTED" });
    });

    test("options that cannot be used name what is wrong", async () => {
      const { server, pinned } = await guarded();
      const options: [Parameters<World["dial"]>[1], string][] = [
        [{ tls: { ...pinned, cert: alice.cert } }, "must be passed together"],
        [{ tls: { ...pinned, cert: alice.cert, key: authority.key } }, "do not fit together"],
      ];
      for (const [option, message] of options) {
        await expect(world.dial(server, option)).rejects.toMatchObject({
          code: "ERR_QUIC_INVALID_OPTION",
          message: expect.stringContaining(message),
        });
      }
      const listening = (tls: Omit<ServerTlsOptions, "tls">) =>
        world.bind().listen({ alpn: ALPN, tls: world.certificate, ...tls }, () => {});
      expect(() => listening({ clientCertificates: { ca: "" } })).toThrow("clientCertificates.ca");
    });
  });

  describe("client certificates of sessions that are resumed", () => {
    const early = { earlyData: true };
    const ticketKeys = [randomBytes(32)];
    const pinned = () => ({
      serverCertificateHashes: [{ algorithm: "sha-256" as const, value: world.certificate.hash }],
    });
    const identity = ({ cert, key }: TestCertificate) => ({ ...pinned(), cert, key });

    /** A server on a port, as if restarted with other options; what the same client gets there. */
    async function visits(): Promise<
      (
        options: Partial<ServerTlsOptions>,
        tls?: ConnectOptions["tls"],
      ) => Promise<{ resumed: boolean; subject: string | undefined; groups: readonly string[] }>
    > {
      const client = world.bind();
      const port = await freePort();
      return async (options, tls) => {
        const accepted = deferred<QuicSession>();
        const server = Endpoint.bind({ host: "127.0.0.1", port, driver });
        server.listen({ alpn: ALPN, tls: world.certificate, ticketKeys, ...options }, (session) => {
          echo(session);
          accepted.resolve(session);
        });
        try {
          const session = await world.dial(server, { ...early, tls: tls ?? pinned() }, client);
          expect(await echoed(session)).toBe("hello");
          const peer = await accepted.promise;
          const groups = [session, peer].map((end) => end.stats().keyExchangeGroup);
          return { resumed: session.resumed, subject: peer.peerCertificate?.subject, groups };
        } finally {
          await server.close();
        }
      };
    }

    async function echoed(session: QuicSession): Promise<string> {
      const stream = session.openStream();
      stream.write(bytes("hello"), true);
      return String(await readAll(stream));
    }

    beforeEach(async () => {
      world.certificate = await certificate();
    });

    test("where certificates are required since, or their absence was allowed before, none is resumed", async () => {
      const required = { clientCertificates: { ca: authority.cert } };
      const optional = { clientCertificates: { ca: authority.cert, required: false } };
      const refused = { code: "ERR_QUIC_CERTIFICATE_REQUIRED" };
      const visit = await visits();
      expect(await visit({})).toMatchObject({ resumed: false });
      expect(await visit({})).toMatchObject({ resumed: true });
      await expect(visit(required)).rejects.toMatchObject(refused);
      expect(await visit(optional)).toMatchObject({ resumed: false });
      expect(await visit(optional)).toMatchObject({ resumed: true, subject: undefined });
      await expect(visit(required)).rejects.toMatchObject(refused);
    });

    test("where the authorities are others since, the certificate is judged by them", async () => {
      const visit = await visits();
      const before = { clientCertificates: { ca: authority.cert } };
      const tls = identity(alice);
      const expected = { subject: "CN=alice.example", groups: ["X25519MLKEM768", "X25519MLKEM768"] };
      expect(await visit(before, tls)).toEqual({ resumed: false, ...expected });
      expect(await visit(before, tls)).toEqual({ resumed: true, ...expected });
      const changed = visit({ clientCertificates: { ca: other.cert } }, tls);
      await expect(changed).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_REJECTED" });
    });

    test.each([
      ["tickets that servers share", { ticketKeys }],
      ["early data", early],
    ])("one that has expired since is refused: %s", async (_, options) => {
      const failed = deferred<QuicError>();
      const accepted: QuicSession[] = [];
      const server = world.bind();
      const listening = { tls: world.certificate, clientCertificates: { ca: authority.cert } };
      server.listen({ alpn: ALPN, ...listening, ...options, onHandshakeError: failed.resolve }, (session) => {
        accepted.push(session);
        echo(session);
      });
      const client = world.bind();
      // Validity is told in whole seconds.
      const until = Math.ceil(Date.now() / 1000) * 1000 + 1000;
      const shortLived = await certificate({ issuer: authority, from: until - 24 * 3_600_000, days: 1 });
      const dialling = { ...early, tls: identity(shortLived) };
      const first = await world.dial(server, dialling, client);
      expect(await echoed(first)).toBe("hello");
      const second = await world.dial(server, dialling, client);
      expect(await echoed(second)).toBe("hello");
      expect(second.resumed).toBe(true);
      await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(until + 1000), { timeout: 5000, interval: 100 });

      // It may begin before the server has judged, as long as the client has tickets: two handshakes brought two each, of which one is used.
      for (let tickets = 3; tickets > 0; tickets--) {
        const resumed = world.dial(server, dialling, client);
        await resumed.then(echoed).then(
          () => expect.unreachable(),
          () => {},
        );
        expect(await failed.promise).toMatchObject({ code: "ERR_QUIC_CERTIFICATE_EXPIRED", source: "tls" });
      }
      const whole = world.dial(server, dialling, client);
      await expect(whole).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_REJECTED" });
      expect(accepted).toHaveLength(2);
    });
  });

  test("a session is resumed while the server's certificate holds, and no longer", async () => {
    // Validity is told in whole seconds.
    const until = Math.ceil(Date.now() / 1000) * 1000 + 1000;
    const tls = await certificate({ issuer: authority, from: until - 24 * 3_600_000, days: 1 });
    const server = await world.serve(echo, { tls, earlyData: true });
    const client = world.bind();
    const dialling = { earlyData: true, serverName: "localhost", tls: { ca: authority.cert } };
    const visit = async (): Promise<boolean> => {
      const session = await world.dial(server, dialling, client);
      const stream = session.openStream();
      stream.write(bytes("hello"), true);
      expect(String(await readAll(stream))).toBe("hello");
      return session.resumed;
    };
    expect(await visit()).toBe(false);
    expect(await visit()).toBe(true);
    await vi.waitFor(() => expect(Date.now()).toBeGreaterThan(until + 1000), { timeout: 5000, interval: 100 });
    await expect(visit()).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_EXPIRED" });
  });

  test("the server hears of a client that does not trust it", async () => {
    const failed = deferred<QuicError>();
    const server = await world.serve(() => {}, { onHandshakeError: failed.resolve });
    await expect(world.dial(server, { tls: { ca: authority.cert } })).rejects.toThrow("not trusted here");
    expect(await failed.promise).toMatchObject({ code: "ERR_QUIC_CERTIFICATE_REJECTED", source: "tls" });
  });

  test("the certificate is chosen by the name asked for, else the first", async () => {
    const names = [["localhost"], ["a.test", "*.a.test"], ["given.test"]];
    const [first, second, third] = await Promise.all(names.map((names) => certificate({ names, issuer: authority })));
    const server = world.bind();
    const tls = [first!, second!, { cert: third!.cert, key: third!.key, names: ["B.test"] }];
    server.listen({ alpn: ALPN, tls }, echo);
    world.certificate = first!;
    const all = {
      serverCertificateHashes: [first!, second!, third!].map(({ hash }) => ({
        algorithm: "sha-256" as const,
        value: hash,
      })),
    };
    const shown = async (serverName: string) =>
      (await world.dial(server, { serverName, tls: all })).peerCertificate?.subject;
    expect(await shown("a.test")).toBe("CN=a.test");
    expect(await shown("X.a.test")).toBe("CN=a.test");
    expect(await shown("x.y.a.test")).toBe("CN=localhost");
    expect(await shown("b.test")).toBe("CN=given.test");
    expect(await shown("given.test")).toBe("CN=localhost");
    expect(await shown("127.0.0.1")).toBe("CN=localhost");
    const trusting = { ca: authority.cert };
    expect((await world.dial(server, { serverName: "x.a.test", tls: trusting })).peerCertificate?.subject).toBe(
      "CN=a.test",
    );
  });

  test("certificates are replaced under live sessions, which go on", async () => {
    const server = await world.serve(echo);
    const before = await world.dial(server);
    const renewed = await certificate({ names: ["renewed.test"] });
    server.updateTls({ tls: renewed });
    await expect(world.dial(server)).rejects.toMatchObject({ code: "ERR_QUIC_CERTIFICATE_HASH_MISMATCH" });
    world.certificate = renewed;
    const after = await world.dial(server);
    expect(after.peerCertificate?.subject).toBe("CN=renewed.test");
    const stream = before.openStream();
    stream.write(bytes("still here"), true);
    expect(String(await readAll(stream))).toBe("still here");
    expect(() => server.updateTls({ tls: { cert: "", key: "" } })).toThrow("tls.cert holds no PEM certificate");
    expect((await world.dial(server)).peerCertificate?.subject).toBe("CN=renewed.test");
    expect(() => world.bind().updateTls({ tls: renewed })).toThrow("does not listen");
  });
});
