import { PassThrough } from "node:stream";
import { createSession } from "@quicrpc/core";
import { createRouter, defineMethod, uncheckedCodec } from "@quicrpc/core/generated";
import { devCertificate, dial, nodeStreamTransport, serve } from "@quicrpc/node";
import { expect, it } from "vitest";
import { closedAfterEach } from "../../../test/open.js";
import { trustOf } from "./trust.js";

const bytes = uncheckedCodec<Uint8Array>();
const methods = {
  echo: defineMethod({ name: "test.v1.Large", id: 7012 }, "unary", "echo", { id: 1, input: bytes, output: bytes }),
};
const routers = [createRouter(methods, { echo: (input) => input })];
const open = closedAfterEach();

/** Messages of 1 KiB to 1 MiB, each full of a byte of its own. */
const messages = Array.from({ length: 44 }, (_, i) => new Uint8Array(1024 * 2 ** (i % 11) + i).fill(i + 1));

it.each(["tcp", "tls", "ws", "wss"])(
  "large messages that are on their way at once over %s arrive as they were",
  async (scheme) => {
    const { cert, key, hash } = await devCertificate();
    const server = await serve({ listen: [`${scheme}://127.0.0.1:0`], tls: { cert, key }, routers });
    const url = server.urls[0] ?? "";
    const session = await dial(url, trustOf(url, { hash }));
    open.push(server, session);
    const answers = await Promise.all(messages.map((message) => session.unary(methods.echo, message)));
    for (const [i, answer] of answers.entries()) {
      expect(answer.length).toBe(messages[i]?.length);
      expect(answer.every((byte) => byte === i + 1)).toBe(true);
    }
  },
);

it("large messages are not written over in a stream that calls back before they are read", async () => {
  const [up, down] = [new PassThrough({ highWaterMark: 1 << 24 }), new PassThrough({ highWaterMark: 1 << 24 })];
  const client = createSession(nodeStreamTransport({ readable: down, writable: up }, "client"));
  const server = createSession(nodeStreamTransport({ readable: up, writable: down }, "server"), { routers });
  open.push(client, server);
  await client.unary(methods.echo, Uint8Array.of(1));
  // What is written meanwhile waits in the stream, which has called back for it.
  up.pause();
  const asked = messages.map((message) => client.unary(methods.echo, message));
  await new Promise((resolve) => setImmediate(resolve));
  up.resume();
  for (const [i, answer] of (await Promise.all(asked)).entries()) {
    expect(answer.every((byte) => byte === i + 1)).toBe(true);
  }
});
