import { createSocket, type Socket } from "node:dgram";
import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../scripts/free-port.mjs";
import type { QuicSession } from "../dist/index.js";
import { certificate } from "./certificates.js";
import {
  ALPN,
  bytes,
  deferred,
  DRIVERS,
  echo,
  Endpoint,
  isPortProbe,
  onSessionEvents,
  readAll,
  World,
} from "./harness.js";

async function echoed(session: QuicSession, text: string): Promise<string> {
  const stream = session.openStream();
  stream.write(bytes(text), true);
  return String(await readAll(stream));
}

function socketOn127(): Promise<Socket> {
  const socket = createSocket("udp4");
  return new Promise((resolve) => socket.bind(0, "127.0.0.1", () => resolve(socket)));
}

describe.each(DRIVERS)("changing addresses, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("a client that rebinds keeps its sessions, and what is under way", async () => {
    const accepted = deferred<QuicSession>();
    const server = await world.serve((session) => {
      echo(session);
      accepted.resolve(session);
    });
    const client = world.bind("127.0.0.1", await freePort());
    const session = await world.dial(server, {}, client);
    const atServer = await accepted.promise;
    const before = client.address.port;
    expect(atServer.remoteAddress.port).toBe(before);
    const data = Buffer.alloc(4_000_000, 7);
    const stream = session.openStream();
    const reply = readAll(stream);
    stream.write(data, true);
    for (let i = 0; i < 3; i++) {
      client.rebind();
      expect(await echoed(session, `after rebind ${i}`)).toBe(`after rebind ${i}`);
    }
    expect(client.address.port).not.toBe(before);
    expect((await reply).equals(data)).toBe(true);
    expect(atServer.remoteAddress.port).toBe(client.address.port);
    expect(session.localAddress.port).toBe(client.address.port);
    // The old port is free.
    await Endpoint.bind({ host: "127.0.0.1", port: before }).close();
  });

  test("rebinding has its rules", async () => {
    const server = await world.serve(echo);
    expect(() => server.rebind()).toThrow("cannot rebind");
    const client = world.bind();
    expect(() => client.rebind({ host: "::1" })).toThrow("another family");
    expect(() => client.rebind({ port: server.address.port })).toThrow("EADDRINUSE");
    const session = await world.dial(server, {}, client);
    expect(await echoed(session, "as before")).toBe("as before");
  });

  test("a peer whose address changes on the way is followed", async () => {
    const accepted = deferred<QuicSession>();
    const server = await world.serve((session) => {
      echo(session);
      accepted.resolve(session);
    });
    // A NAT that gives the client another port when told to.
    const inside = await socketOn127();
    let outside = await socketOn127();
    let client = 0;
    const backwards = (datagram: Buffer): void => inside.send(datagram, client, "127.0.0.1");
    outside.on("message", backwards);
    inside.on("message", (datagram, from) => {
      if (isPortProbe(datagram)) return;
      client = from.port;
      outside.send(datagram, server.address.port, "127.0.0.1");
    });
    const session = await world.dial(server, {
      port: inside.address().port,
      transport: { keepAliveIntervalMs: 100 },
    });
    expect(await echoed(session, "before")).toBe("before");
    const old = outside;
    outside = await socketOn127();
    outside.on("message", backwards);
    old.close();
    const atServer = await accepted.promise;
    // Where the answer to its challenge is late, as on a busy machine, the server goes back to the old path, until the next packet.
    const followed = async (): Promise<number> => {
      expect(await echoed(session, "after")).toBe("after");
      return atServer.remoteAddress.port;
    };
    await expect.poll(followed).toBe(outside.address().port);
    inside.close();
    outside.close();
  });

  test("a close counts, though a stateless reset comes close behind", async () => {
    world.certificate = await certificate();
    const secret = randomBytes(32);
    const target = await freePort();
    const start = (): Endpoint => {
      const endpoint = Endpoint.bind({ host: "127.0.0.1", port: target, driver, secret });
      endpoint.listen({ alpn: ALPN, tls: world.certificate }, echo);
      return endpoint;
    };
    const server = start();
    let again: Endpoint | undefined;
    // Carries the client's datagrams to the server, and can hold back what comes from it.
    const [relay, marker] = [await socketOn127(), await socketOn127()];
    let client = 0;
    let hold: ((datagram: Buffer) => void) | undefined;
    let onMark = (): void => {};
    relay.on("message", (datagram, { port }) => {
      if (port === marker.address().port) onMark();
      else if (isPortProbe(datagram)) return;
      else if (port !== target) {
        client = port;
        relay.send(datagram, target, "127.0.0.1");
      } else if (hold !== undefined) hold(datagram);
      else relay.send(datagram, client, "127.0.0.1");
    });
    /** Fulfils once all that has come to the relay until now is carried or held. */
    const taken = (): Promise<void> =>
      new Promise((resolve) => {
        onMark = resolve;
        marker.send("mark", relay.address().port, "127.0.0.1");
      });
    try {
      const session = await world.dial(server, { port: relay.address().port });
      expect(await echoed(session, "hello")).toBe("hello");
      const ended = deferred<unknown>();
      session.attach(onSessionEvents({ onClosed: (info) => ended.resolve(info) }));
      const last: Buffer[] = [];
      hold = (datagram) => last.push(datagram);
      await server.close({ closeCode: 7, reason: "restart" });
      // The close is the last of them: an acknowledgement may come before it.
      await taken();
      expect(last).not.toEqual([]);
      const reset = new Promise<Buffer>((resolve) => (hold = resolve));
      again = start();
      session.openStream().write(bytes("too late"), true);
      // In one turn, so that the client receives all at once.
      for (const datagram of [...last, await reset]) relay.send(datagram, client, "127.0.0.1");
      expect(await ended.promise).toEqual({ closeCode: 7, reason: "restart" });
    } finally {
      relay.close();
      marker.close();
      await server.close();
      await again?.close();
    }
  });

  test.skipIf(process.platform !== "linux")("endpoints that share a port share the peers", async () => {
    world.certificate = await certificate();
    let port = 0;
    const taken = [0, 0, 0];
    const endpoints = taken.map((_, index) => {
      const endpoint = Endpoint.bind({ host: "127.0.0.1", port, driver, reusePort: true });
      port = endpoint.address.port;
      endpoint.listen({ alpn: ALPN, tls: world.certificate }, (session) => {
        (taken[index] as number)++;
        echo(session);
      });
      return endpoint;
    });
    try {
      const sessions = await Promise.all(Array.from({ length: 32 }, () => world.dial(endpoints[0] as Endpoint)));
      expect(await Promise.all(sessions.map((session) => echoed(session, "hello")))).toEqual(
        sessions.map(() => "hello"),
      );
      expect(taken.reduce((sum, count) => sum + count)).toBe(32);
      // By chance one alone takes all once in 3^31 runs.
      expect(taken.filter((count) => count > 0).length).toBeGreaterThan(1);
    } finally {
      await Promise.all(endpoints.map((endpoint) => endpoint.close()));
    }
  });

  test.skipIf(process.platform !== "linux")(
    "a client that moves to another of them is not reset by it, though they share a secret, and may dial again",
    async () => {
      world.certificate = await certificate();
      const secret = randomBytes(32);
      const bind = (port: number) => Endpoint.bind({ host: "127.0.0.1", port, driver, reusePort: true, secret });
      const first = bind(0);
      const endpoints = [first, bind(first.address.port)] as const;
      for (const endpoint of endpoints) endpoint.listen({ alpn: ALPN, tls: world.certificate }, echo);
      try {
        const client = world.bind();
        const session = await world.dial(endpoints[0], { transport: { idleTimeoutMs: 1000 } }, client);
        // Before the server has completed its handshake nobody may move (RFC 9000 §9).
        expect(await echoed(session, "hello")).toBe("hello");
        const ended = deferred<Error | undefined>();
        session.attach(onSessionEvents({ onClosed: (_, error) => ended.resolve(error) }));
        // Each new port goes to either endpoint by the kernel's hash; 64 to the same one, once in 2^64 runs.
        for (let i = 0; i < 64; i++) {
          client.rebind();
          const here = echoed(session, "still here").catch(() => "gone");
          if ((await Promise.race([here, ended.promise.then(() => "gone")])) === "gone") break;
        }
        expect(await ended.promise).toMatchObject({ code: "ERR_QUIC_IDLE_TIMEOUT" });
        expect(await echoed(await world.dial(endpoints[0], {}, client), "again")).toBe("again");
      } finally {
        await Promise.all(endpoints.map((endpoint) => endpoint.close()));
      }
    },
  );
});
