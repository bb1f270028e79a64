import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { QuicSession, QuicStream } from "../dist/index.js";
import { bytes, DRIVERS, onStreamEvents, World } from "./harness.js";

async function accept(session: QuicSession): Promise<QuicStream> {
  const reader = session.incomingBidirectionalStreams.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return value as QuicStream;
}

async function text(readable: ReadableStream<Uint8Array>): Promise<string> {
  let all = "";
  const decoder = new TextDecoder();
  for await (const chunk of readable) all += decoder.decode(chunk, { stream: true });
  return all;
}

describe.each(DRIVERS)("W3C WebTransport members, %s driver", (driver) => {
  let world: World;
  beforeEach(() => {
    world = new World(driver);
  });
  afterEach(() => world.close());

  test("readable and writable of both ends", async () => {
    const [client, server] = await world.pair();
    await client.ready;
    const serving = accept(server).then((stream) => stream.readable.pipeTo(stream.writable));
    const stream = await client.createBidirectionalStream();
    const writer = stream.writable.getWriter();
    const reply = text(stream.readable);
    await writer.write(bytes("to and "));
    await writer.write(bytes("fro"));
    await writer.close();
    expect(await reply).toBe("to and fro");
    await serving;
  });

  test("a slow reader stalls the writer", async () => {
    const limits = { streamReceiveWindow: 65_536, sendWindow: 131_072, highWaterMark: 65_536 };
    const [client, server] = await world.pair({ server: limits, client: limits });
    const arriving = accept(server);
    const { writable } = await client.createBidirectionalStream();
    const writer = writable.getWriter();
    let written = 0;
    const writing = (async () => {
      for (let i = 0; i < 40; i++) {
        await writer.write(new Uint8Array(50_000));
        written++;
      }
      await writer.close();
    })();
    const remote = await arriving;
    const reader = remote.readable.getReader();
    // Until nothing moves any more while another stream goes to and fro.
    for (let before = -1; before !== written; ) {
      before = written;
      const echoing = accept(server).then((stream) => stream.readable.pipeTo(stream.writable));
      const other = await client.createBidirectionalStream();
      const reply = text(other.readable);
      const words = other.writable.getWriter();
      await words.write(bytes("and fro"));
      await words.close();
      expect(await reply).toBe("and fro");
      await echoing;
    }
    expect(written).toBeLessThan(12);
    let received = 0;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      received += value.length;
    }
    await writing;
    expect(received).toBe(2_000_000);
  });

  test("BYOB reads", async () => {
    const [client, server] = await world.pair();
    const arriving = accept(server);
    const writer = (await client.createBidirectionalStream()).writable.getWriter();
    await writer.write(bytes("abcdef"));
    const reader = (await arriving).readable.getReader({ mode: "byob" });
    const first = await reader.read(new Uint8Array(4));
    expect(Buffer.from(first.value!).toString()).toBe("abcd");
    const rest = await reader.read(new Uint8Array(4));
    expect(Buffer.from(rest.value!).toString()).toBe("ef");
    const last = reader.read(new Uint8Array(4));
    await writer.close();
    expect((await last).done).toBe(true);
  });

  test("abort resets with the code, the peer's read rejects with it", async () => {
    const [client, server] = await world.pair();
    const arriving = accept(server);
    const stream = await client.createBidirectionalStream();
    const writer = stream.writable.getWriter();
    await writer.write(bytes("x"));
    const reader = (await arriving).readable.getReader();
    await reader.read();
    await writer.abort({ streamErrorCode: 0xffff_ffff });
    await expect(reader.read()).rejects.toMatchObject({
      code: "ERR_QUIC_RESET",
      source: "stream",
      streamErrorCode: 0xffff_ffff,
    });
  });

  test("abort does not wait for a peer that reads no more", async () => {
    const limits = { streamReceiveWindow: 65_536, sendWindow: 65_536, highWaterMark: 65_536 };
    const [client, server] = await world.pair({ server: limits, client: limits });
    const arriving = accept(server);
    const { writable } = await client.createBidirectionalStream();
    const writer = writable.getWriter();
    const stuck = writer.write(new Uint8Array(1_000_000));
    const remote = await arriving;
    const reset = new Promise<number>((resolve) => remote.attach(onStreamEvents({ onReset: resolve })));
    remote.pause();
    await writer.abort({ streamErrorCode: 12 });
    remote.resume();
    expect(await reset).toBe(12);
    await stuck;
  });

  test("streams that come after incomingBidirectionalStreams was cancelled are refused", async () => {
    const [client, server] = await world.pair();
    await server.incomingBidirectionalStreams.cancel();
    const { readable, writable } = await client.createBidirectionalStream();
    const writer = writable.getWriter();
    await writer.write(bytes("x"));
    await expect(readable.getReader().read()).rejects.toMatchObject({ code: "ERR_QUIC_RESET" });
  });

  test("cancel stops the sender with the code", async () => {
    const [client, server] = await world.pair();
    const arriving = accept(server);
    const stream = await client.createBidirectionalStream();
    const writer = stream.writable.getWriter();
    await writer.write(bytes("x"));
    await (await arriving).readable.cancel({ streamErrorCode: 77 });
    await expect(writer.closed).rejects.toMatchObject({ code: "ERR_QUIC_STOP_SENDING", streamErrorCode: 77 });
    await expect(writer.write(bytes("y"))).rejects.toMatchObject({ streamErrorCode: 77 });
  });

  test("closed fulfils on a close by either side, and streams fail with it", async () => {
    const [client, server] = await world.pair();
    const stream = await client.createBidirectionalStream();
    const reader = stream.readable.getReader();
    const { closed } = client;
    const incoming = client.incomingBidirectionalStreams.getReader();
    server.close({ closeCode: 4, reason: "bye" });
    expect(await closed).toEqual({ closeCode: 4, reason: "bye" });
    expect(await server.closed).toEqual({ closeCode: 4, reason: "bye" });
    await expect(reader.read()).rejects.toMatchObject({ code: "ERR_QUIC_CLOSED_BY_PEER", closeCode: 4 });
    await expect(incoming.read()).rejects.toMatchObject({ closeCode: 4 });
    await expect(client.createBidirectionalStream()).rejects.toThrow("closed");
  });

  test("closed rejects when the session is lost", async () => {
    const [client] = await world.pair({ client: { idleTimeoutMs: 1000 } });
    await expect(client.closed).rejects.toMatchObject({ code: "ERR_QUIC_IDLE_TIMEOUT" });
  });

  test("a session has one owner", async () => {
    const [client] = await world.pair();
    void client.incomingBidirectionalStreams;
    expect(() => client.attach({ onStream() {}, onClosed() {} })).toThrow("handler");
  });
});
