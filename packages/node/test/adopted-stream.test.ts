// A session of calls on one stream of a QUIC session that belongs to another protocol.
import { createSession, type Session } from "@quicrpc/core";
import { webStreamTransport } from "@quicrpc/core/transport";
import { devCertificate } from "@quicrpc/node";
import { Endpoint, type QuicSession, type QuicStream } from "@quicrpc/quic";
import { afterEach, expect, it } from "vitest";
import { behaviourRouter, methods, Witness } from "../../../test/behaviour/service.js";
import { asyncFrom, collect } from "../../../test/behaviour/tools.js";

const open: Endpoint[] = [];
afterEach(async () => {
  for (const endpoint of open.splice(0)) await endpoint.close();
});

/** Both ends of a QUIC session that knows nothing of calls. */
async function joined(): Promise<[QuicSession, QuicSession]> {
  const { cert, key, hash } = await devCertificate();
  const endpoint = Endpoint.bind({ host: "127.0.0.1" });
  open.push(endpoint);
  const accepted = new Promise<QuicSession>((resolve) => {
    endpoint.listen({ alpn: ["other/1"], tls: { cert, key } }, resolve);
  });
  const { host, port } = endpoint.address;
  const client = await endpoint.connect({ host, port, alpn: ["other/1"], tls: { serverCertificateHashes: [hash] } });
  return [client, await accepted];
}

async function nextStream(session: QuicSession): Promise<QuicStream> {
  const reader = session.incomingBidirectionalStreams.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  if (value === undefined) throw new Error("the session has ended");
  return value;
}

it.each([
  ["as it is", undefined],
  ["with a prefix", new TextEncoder().encode("RPC!")],
])(
  "one stream of a session, %s, carries calls of every kind in both directions; the others are not touched",
  async (_, prefix) => {
    const [ours, theirs] = await joined();
    const options = { routers: [behaviourRouter(new Witness())], ...(prefix !== undefined && { prefix }) };
    const stream = await ours.createBidirectionalStream();
    const here = createSession(webStreamTransport(stream, "client"), options);
    const greeted = here.unary(methods.echo, { text: "first" });
    const there = createSession(webStreamTransport(await nextStream(theirs), "server"), options);
    expect(await greeted).toEqual({ text: "first" });
    for (const session of [here, there] satisfies Session[]) {
      expect(await collect(session.serverStream(methods.items, { n: 3 }))).toHaveLength(3);
      expect(await session.clientStream(methods.sum, asyncFrom([1, 2, 3]))).toBe(6);
    }

    const other = await theirs.createBidirectionalStream();
    const writer = other.writable.getWriter();
    await writer.write(Uint8Array.of(2, 1, 0));
    await writer.close();
    expect(await collect((await nextStream(ours)).readable)).toEqual([Uint8Array.of(2, 1, 0)]);

    // The session of calls ends with its stream, and the QUIC session goes on.
    expect(await here.close()).toMatchObject({ closeCode: 0 });
    expect(await there.closed).toMatchObject({ closeCode: 0, error: undefined });
    const last = await ours.createBidirectionalStream();
    await last.writable.close();
    expect(await collect((await nextStream(theirs)).readable)).toEqual([]);
  },
);
