import { createSocket, Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openNetwork, openTcpLink, openUdpLink } from "./index.js";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function udpEcho(): Promise<number> {
  const socket = createSocket("udp4");
  socket.on("message", (packet, { port }) => socket.send(packet, port, "127.0.0.1"));
  await once(socket.bind(0, "127.0.0.1"), "listening");
  closers.push(() => socket.close());
  return socket.address().port;
}

async function tcpEcho(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

async function client(port: number): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  closers.push(() => socket.destroy());
  await once(socket, "connect");
  return socket;
}

async function bytesOf(socket: Socket): Promise<Buffer> {
  return Buffer.concat(await socket.toArray());
}

describe("a link for TCP", () => {
  it("passes all bytes and the end on, however it delays, loses and limits", async () => {
    const link = await openTcpLink({
      target: await tcpEcho(),
      conditions: { delayMs: 2, jitterMs: 2, loss: 0.05, downBytesPerSecond: 20e6, queueBytes: 20_000 },
    });
    closers.push(() => link.close());
    const socket = await client(link.port);
    const sent = Buffer.alloc(1_000_000, "0123456789");
    socket.end(sent);
    expect((await bytesOf(socket)).equals(sent)).toBe(true);
  });

  it("holds what is sent in a blackout, and passes it on after", async () => {
    const link = await openTcpLink({ target: await tcpEcho() });
    closers.push(() => link.close());
    const socket = await client(link.port);
    socket.write("a");
    expect(String((await once(socket, "data"))[0])).toBe("a");
    link.conditions = { blackout: true };
    socket.end("b");
    link.conditions = {};
    expect(String(await bytesOf(socket))).toBe("b");
  });

  it("cuts connections with a reset", async () => {
    const link = await openTcpLink({ target: await tcpEcho() });
    closers.push(() => link.close());
    const socket = await client(link.port);
    socket.write("a");
    await once(socket, "data");
    const failed = once(socket, "error");
    link.move();
    expect(await failed).toMatchObject([{ code: "ECONNRESET" }]);
  });

  it("keeps no more than its queue while the server does not read", async () => {
    const server = createServer((socket) => socket.on("error", () => {}).pause());
    await once(server.listen(0, "127.0.0.1"), "listening");
    closers.push(() => server.close());
    const link = await openTcpLink({
      target: (server.address() as AddressInfo).port,
      conditions: { delayMs: 1, queueBytes: 65_536 },
    });
    closers.push(() => link.close());
    const socket = await client(link.port);
    const before = process.memoryUsage().arrayBuffers;
    const chunk = Buffer.alloc(65_536);
    let written = 0;
    // All buffers of the kernel are full when the socket takes no more.
    while (written < 64e6) {
      written += chunk.length;
      if (!socket.write(chunk) && !(await drained(socket))) break;
    }
    expect(written).toBeLessThan(64e6);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8e6);
    socket.resetAndDestroy();
  });
});

/** Returns true once the socket can be written again, or false after 250 ms. */
async function drained(socket: Socket): Promise<boolean> {
  return Promise.race([
    once(socket, "drain").then(() => true),
    // oxlint-disable-next-line eslint/no-restricted-globals -- the kernel does not tell when all of its buffers are full
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 250)),
  ]);
}

describe("a link for UDP", () => {
  it("packets from port 0, which cannot be answered, are dropped", async () => {
    const target = await udpEcho();
    // Only raw sockets send such packets, so one is given to the link's own listener.
    const on = vi.spyOn(UdpSocket.prototype, "on");
    const link = await openUdpLink({ target });
    closers.push(() => link.close());
    const [, receive] = on.mock.calls.find(([event]) => event === "message") ?? [];
    on.mockRestore();
    const udp = createSocket("udp4");
    closers.push(() => udp.close());
    receive?.(Buffer.from("from port 0"), { address: "127.0.0.1", family: "IPv4", port: 0, size: 11 });
    udp.send("from a client", link.port, "127.0.0.1");
    const [answer] = await once(udp, "message");
    expect(String(answer)).toBe("from a client");
  });

  it("passes packets on and back, to each client its own, and from another address after a move", async () => {
    const link = await openUdpLink({ target: await udpEcho(), conditions: { delayMs: 1 } });
    closers.push(() => link.close());
    const clients = [createSocket("udp4"), createSocket("udp4")];
    closers.push(...clients.map((socket) => () => void socket.close()));
    for (const round of ["before", "after"]) {
      const answers = clients.map(async (socket) => String((await once(socket, "message"))[0]));
      clients.forEach((socket, index) => socket.send(`${round} ${index}`, link.port, "127.0.0.1"));
      expect(await Promise.all(answers)).toEqual([`${round} 0`, `${round} 1`]);
      link.move();
    }
  });
});

describe("a network", () => {
  it("has one port for UDP and TCP, and passes only TCP where UDP is blocked", async () => {
    const network = await openNetwork({ target: await tcpEcho(), conditions: { udpBlocked: true } });
    closers.push(() => network.close());
    const udp = createSocket("udp4");
    closers.push(() => void udp.close());
    const socket = await client(network.port);
    socket.end("through");
    expect(String(await bytesOf(socket))).toBe("through");
    expect(network.conditions).toMatchObject({ udpBlocked: true, blackout: false });
  });

  it("is offline now and then", async () => {
    const network = await openNetwork({ target: await tcpEcho(), outages: { offlineMs: 20, everyMs: 40 } });
    closers.push(() => network.close());
    await expect.poll(() => network.conditions.blackout, { interval: 2 }).toBe(true);
    network.conditions = { delayMs: 1 };
    await expect.poll(() => network.conditions.blackout, { interval: 2 }).toBe(false);
    expect(network.conditions.delayMs).toBe(1);
    await expect(openNetwork({ target: 1, outages: { offlineMs: 50, everyMs: 40 } })).rejects.toThrow("below everyMs");
  });
});
