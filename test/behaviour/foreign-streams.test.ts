import { Buffer } from "node:buffer";
import type { ErrorHook } from "@quicrpc/core/internal";
import type { DirectStream, TransportSession } from "@quicrpc/core/transport";
import type { Session, SessionOptions } from "@quicrpc/core";
import { describe, expect, it } from "vitest";
import { streamError } from "../../packages/core/dist/transport/web-session.js";
import { kindsFor, type Pair } from "./kinds.js";
import { methods } from "./service.js";

/** Sends `hex` on a stream of the application's own, and FIN; resolves with what came back. */
async function exchange(transport: TransportSession, hex: string): Promise<string> {
  const bytes = new Uint8Array(Buffer.from(hex, "hex"));
  if ("openStream" in transport) {
    const stream = transport.openStream();
    const answer = received(stream);
    // In two pieces, so that the first byte arrives alone.
    stream.write(bytes.subarray(0, 1));
    stream.write(bytes.subarray(1), true);
    return answer;
  }
  const { readable, writable } = await transport.createBidirectionalStream();
  const writer = writable.getWriter();
  await writer.write(bytes);
  await writer.close();
  const chunks: Uint8Array[] = [];
  for await (const chunk of readable) chunks.push(chunk);
  return Buffer.concat(chunks).toString("hex");
}

/** All that comes in on `stream`; rejects when it is reset. */
function received(stream: DirectStream): Promise<string> {
  return new Promise((resolve, reject) => {
    let hex = "";
    stream.attach({
      onData: (chunk) => void (hex += Buffer.from(chunk).toString("hex")),
      onEnd: () => resolve(hex),
      onReset: (code) => reject(new Error(`reset with ${code}`)),
      onStopSending: () => {},
      onDrain: () => {},
      onClosed: () => reject(new Error("closed")),
    });
  });
}

/** Another protocol: gives back what it got, between two marks. */
const echoing = async (stream: DirectStream): Promise<void> => {
  const hex = await received(stream);
  stream.write(new Uint8Array(Buffer.from(`aa${hex}bb`, "hex")), true);
};

async function sharing(pair: Pair, check: (session: Session, via: "lane" | "stream") => Promise<void>): Promise<void> {
  for (const session of [pair.client, pair.server]) {
    await check(session, "lane");
    await check(session, "stream");
  }
  await pair.close();
}

describe.each(kindsFor("C69"))("a session shared with another protocol: $name", (kind) => {
  const connect = (options: SessionOptions) => kind.connect({}, { client: shared(options), server: shared(options) });
  const shared = (options: SessionOptions): SessionOptions => ({
    onForeignStream: (stream) => void echoing(stream),
    ...options,
  });

  it("C69 streams of other kinds reach the application untouched, in both directions", async () => {
    await sharing(await connect({}), async (session, via) => {
      // Kinds that are unknown here, one of them in 8 bytes and beyond 2^53; and a stream that ends within its kind.
      for (const hex of ["3f0102", "7fff", "ffffffffffffffff00", "40"]) {
        expect(await exchange(session.transport, hex)).toBe(`aa${hex}bb`);
      }
      await calls(session, via);
    });
  });

  it("C69 with a prefix, whatever the other protocol's streams begin with", async () => {
    const prefix = new TextEncoder().encode("RPC!");
    await sharing(await connect({ prefix }), async (session, via) => {
      for (const hex of ["0102", "02", "5250", "52504321"]) {
        expect(await exchange(session.transport, hex)).toBe(`aa${hex}bb`);
      }
      await calls(session, via);
    });
  });

  it("C69 a stream that is stopped before its first byte reaches the application, which is told", async () => {
    let told!: (outcome: [hex: string, code: number]) => void;
    const heard = new Promise<[hex: string, code: number]>((resolve) => (told = resolve));
    const onForeignStream = (stream: DirectStream): void => {
      let hex = "";
      const nothing = (): void => {};
      let onEnd = nothing;
      let onStopSending: (code: number) => void = nothing;
      // Where something joins the two ends, as in a page, the one may overtake the other.
      const ended = new Promise<void>((resolve) => (onEnd = resolve));
      const stopped = new Promise<number>((resolve) => (onStopSending = resolve));
      void Promise.all([stopped, ended]).then(([code]) => told([hex, code]));
      stream.attach({
        onData: (chunk) => void (hex += Buffer.from(chunk).toString("hex")),
        onEnd,
        onReset: nothing,
        onStopSending,
        onDrain: nothing,
        onClosed: nothing,
      });
    };
    const pair = await kind.connect({}, { server: { onForeignStream } });
    const { transport } = pair.client;
    // Its stream is there before: a page takes one stream after the other, and what comes for a later one meanwhile is without code.
    await calls(pair.client, "lane");
    const bytes = Uint8Array.of(0x3f, 1);
    if ("openStream" in transport) {
      const stream = transport.openStream();
      received(stream).catch(() => {});
      stream.stopSending(7);
      await calls(pair.client, "lane");
      stream.write(bytes, true);
    } else {
      const { readable, writable } = await transport.createBidirectionalStream();
      await readable.cancel(streamError(7));
      await calls(pair.client, "lane");
      const writer = writable.getWriter();
      await writer.write(bytes);
      await writer.close();
    }
    expect(await heard).toEqual(["3f01", 7]);
    await pair.close();
  });

  it("C69 streams of other kinds are refused where nobody wants them", async () => {
    const pair = await kind.connect();
    const outcome = await exchange(pair.client.transport, "3f01").catch(() => "refused");
    expect(outcome).toBe("refused");
    await pair.close();
  });

  it("a hook for them that throws costs that stream, and goes to onError; the session goes on", async () => {
    const thrown: [error: unknown, method: string][] = [];
    const onError: ErrorHook = (error, { method }) => void thrown.push([error, method]);
    const onForeignStream = (): void => {
      throw new Error("from the hook");
    };
    const pair = await kind.connect({}, { server: { onForeignStream, onError } });
    expect(await exchange(pair.client.transport, "3f").catch(() => "refused")).toBe("refused");
    expect(thrown).toMatchObject([[{ message: "from the hook" }, "onForeignStream"]]);
    await calls(pair.client, "stream");
    await pair.close();
  });

  async function calls(session: Session, via: "lane" | "stream"): Promise<void> {
    expect(await session.unary(methods.echo, { text: "beside" }, { via })).toEqual({ text: "beside" });
  }
});
