import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { QuicSession, WebTransportSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import { deferred, DRIVERS, echo, readAll, World } from "./harness.js";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe.each(DRIVERS)("keying material, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("is the same at both ends, and another for each label, context and connection", async () => {
    const accepted: QuicSession[] = [];
    let more = deferred();
    const server = await world.serve((session) => {
      accepted.push(session);
      more.resolve();
    });
    const clients: QuicSession[] = [];
    for (let n = 0; n < 2; n++) {
      more = deferred();
      clients.push(await world.dial(server));
      await more.promise;
    }
    const seen = new Set<string>();
    for (const [at, client] of clients.entries()) {
      for (const [label, context] of [
        ["a", ""],
        ["b", ""],
        ["a", "c"],
      ] as const) {
        const ours = await client.exportKeyingMaterial(utf8(label), utf8(context), 32);
        const theirs = await (accepted[at] as QuicSession).exportKeyingMaterial(utf8(label), utf8(context), 32);
        expect(hex(ours)).toBe(hex(theirs));
        seen.add(hex(ours));
      }
    }
    expect(seen.size).toBe(6);
    const [client] = clients as [QuicSession];
    expect(await client.exportKeyingMaterial(utf8("a"), utf8(""), 8160)).toHaveLength(8160);
    for (const length of [0, 8161, 2 ** 31, -1, Number.NaN]) {
      await expect(client.exportKeyingMaterial(utf8("a"), utf8(""), length)).rejects.toMatchObject({
        code: "ERR_QUIC_NO_KEYING_MATERIAL",
      });
    }
    for (const session of [client, accepted[0] as QuicSession]) {
      expect(await session.exportKeyingMaterial(new Uint8Array(249), utf8(""), 32)).toHaveLength(32);
      await expect(session.exportKeyingMaterial(new Uint8Array(250), utf8(""), 32)).rejects.toMatchObject({
        code: "ERR_QUIC_NO_KEYING_MATERIAL",
      });
    }
    client.close();
    await client.closed;
    await expect(client.exportKeyingMaterial(utf8("a"), utf8(""), 32)).rejects.toMatchObject({
      code: "ERR_QUIC_NO_KEYING_MATERIAL",
    });
  });

  test("is the same at both ends of a session that is resumed, with early data", async () => {
    const earlyData = true;
    const accepted: QuicSession[] = [];
    const server = await world.serve(
      (session) => {
        accepted.push(session);
        echo(session);
      },
      { earlyData },
    );
    const client = world.bind();
    const seen = new Set<string>();
    for (const resumed of [false, true, true]) {
      const session = await world.dial(server, { earlyData }, client);
      const stream = session.openStream();
      stream.write(utf8("a"), true);
      // Asked for before the handshake is over, where there is early data: it is still the session's.
      const asked = session.exportKeyingMaterial(utf8("a"), utf8("c"), 32).catch(() => undefined);
      await readAll(stream);
      await session.ready;
      expect(session.resumed).toBe(resumed);
      expect(session.earlyDataAccepted).toBe(resumed ? true : undefined);
      const ours = hex(await session.exportKeyingMaterial(utf8("a"), utf8("c"), 32));
      // The acceptor may know later that the handshake is over.
      await (accepted.at(-1) as QuicSession).ready;
      const theirs = await (accepted.at(-1) as QuicSession).exportKeyingMaterial(utf8("a"), utf8("c"), 32);
      expect(hex(theirs)).toBe(ours);
      const early = await asked;
      if (early !== undefined) expect(hex(early)).toBe(ours);
      seen.add(ours);
    }
    expect(seen.size).toBe(3);
  });
});

describe.each(DRIVERS)("keying material of WebTransport, %s driver", (driver) => {
  test("is each session's own, on one connection too", async () => {
    const world = new World(driver);
    const authority = await certificate({ ca: true });
    const pinned = await certificate({ issuer: authority });
    const server = world.bind();
    const accepted = new Map<string, WebTransportSession>();
    server.listen({ alpn: [], tls: pinned, webTransport: {} }, (session) => {
      const { path } = session as WebTransportSession;
      accepted.set(path, session as WebTransportSession);
    });
    const client = world.bind();
    const options = { tls: { ca: authority.cert }, serverName: "localhost", allowPooling: true };
    const base = `https://127.0.0.1:${server.address.port}`;
    const seen: string[] = [];
    for (const path of ["/one", "/two"]) {
      const session = await client.connectWebTransport(base + path, options);
      const ours = await session.exportKeyingMaterial(utf8("label"), utf8("context"), 32);
      const theirs = await accepted.get(path)?.exportKeyingMaterial(utf8("label"), utf8("context"), 32);
      expect(hex(ours)).toBe(hex(theirs as Uint8Array));
      seen.push(hex(ours));
      await expect(session.exportKeyingMaterial(new Uint8Array(256), utf8(""), 32)).rejects.toMatchObject({
        code: "ERR_QUIC_NO_KEYING_MATERIAL",
      });
    }
    expect(seen[0]).not.toBe(seen[1]);
    expect(server.stats().sessions).toBe(1);
    await world.close();
  });
});
