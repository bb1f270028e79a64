// Compressed messages that wait for a turn of the event loop when their session ends.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, zodCodec } from "@quicrpc/core/generated";
import { devCertificate, dial, nodeCompressions, nodeStreamTransport, serve } from "@quicrpc/node";
import { expect, it } from "vitest";
import { z } from "zod";
import { closedAfterEach } from "../../../test/open.js";

const open = closedAfterEach();

/** More than are decompressed in two turns. */
const MESSAGES = 1200;
const TEXT = "a".repeat(150);

const service = { name: "test.v1.Paced", id: 44 };
const text = zodCodec(z.string());
const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: text, output: text }),
  note: defineMethod(service, "notify", "note", { id: 2, input: text }),
};

const compressing = { algorithms: nodeCompressions(), minBytes: 100 };
const reading = { algorithms: nodeCompressions(), minBytes: Infinity };

/** A service that counts notes, and that calls `onLast` with the last of the calls. */
function counting(onLast: () => void) {
  let calls = 0;
  let notes = 0;
  const router = createRouter(methods, {
    echo(message) {
      // The first call waits for the handshake.
      if (calls++ === MESSAGES) onLast();
      return message;
    },
    note() {
      notes++;
    },
  });
  return { router, notes: () => notes };
}

/** Both ends of a connection. */
async function sockets(): Promise<{ dialled: Socket; accepted: Socket }> {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const accepting = once(server, "connection") as Promise<[Socket]>;
  const dialled = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [accepted] = await accepting;
  server.close();
  open.push({ close: () => dialled.destroy() }, { close: () => accepted.destroy() });
  return { dialled, accepted };
}

/** How many of many calls are answered. */
async function answersOf(echo: (message: string) => Promise<string>): Promise<number> {
  await echo("");
  const settled = await Promise.allSettled(Array.from({ length: MESSAGES }, () => echo(TEXT)));
  return settled.filter(({ status }) => status === "fulfilled").length;
}

it("delivers all answers that precede the end of a session over QUIC", async () => {
  let session: { close(info: { closeCode: number }): unknown } | undefined;
  const { router } = counting(() => setImmediate(() => session?.close({ closeCode: 0 })));
  const { cert, key, hash } = await devCertificate();
  const server = await serve({
    routers: [router],
    listen: ["quic://127.0.0.1:0"],
    tls: { cert, key },
    advanced: { compression: compressing, onSession: (accepted) => void (session = accepted) },
  });
  open.push(server);
  const client = await dial(server.urls[0] as string, {
    serverCertificateHashes: [hash],
    advanced: { compression: reading, via: "lane" },
  });
  open.push(client);
  expect(await answersOf((message) => client.unary(methods.echo, message))).toBe(MESSAGES);
});

it("delivers all answers that precede the end of a session over a Node stream", async () => {
  const { dialled, accepted } = await sockets();
  const { router } = counting(() => setImmediate(() => void server.close({ closeCode: 0 })));
  const server = createSession(nodeStreamTransport({ readable: accepted, writable: accepted }, "server"), {
    routers: [router],
    compression: compressing,
  });
  const client = createSession(nodeStreamTransport({ readable: dialled, writable: dialled }, "client"), {
    compression: reading,
  });
  open.push(server, client);
  expect(await answersOf((message) => client.unary(methods.echo, message))).toBe(MESSAGES);
});

it("reads everything that precedes the end of a Node stream, and why the session ended", async () => {
  const { dialled, accepted } = await sockets();
  const { router, notes } = counting(() => {});
  const server = createSession(nodeStreamTransport({ readable: accepted, writable: accepted }, "server"), {
    routers: [router],
    compression: reading,
  });
  const client = createSession(nodeStreamTransport({ readable: dialled, writable: dialled }, "client"), {
    compression: compressing,
  });
  open.push(server, client);
  await client.unary(methods.echo, "");
  for (let count = 0; count < MESSAGES; count++) void client.notify(methods.note, TEXT);
  void client.close({ closeCode: 7 });
  expect(await server.closed.then(({ closeCode }) => closeCode)).toBe(7);
  expect(notes()).toBe(MESSAGES);
});
