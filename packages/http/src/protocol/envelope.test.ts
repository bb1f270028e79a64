import { RpcError } from "@quicrpc/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Envelope, EnvelopeReader, FLAG_END, readEnvelopes, writeEnvelope } from "./envelope.js";

const envelopes = fc.array(
  fc.record({ flags: fc.integer({ min: 0, max: 3 }), bytes: fc.uint8Array({ maxLength: 300 }) }),
);

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

function bodyOf(pieces: readonly Uint8Array[], onCancel = (): void => {}): ReadableStream<Uint8Array> {
  const rest = [...pieces];
  return new ReadableStream({
    pull(controller) {
      const piece = rest.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
    cancel: onCancel,
  });
}

async function all(body: ReadableStream<Uint8Array> | null, maxBytes = 1000): Promise<Envelope[]> {
  const read: Envelope[] = [];
  for await (const envelope of readEnvelopes(body?.getReader(), maxBytes)) read.push(envelope);
  return read;
}

describe("envelopes", () => {
  it("are what was written, whatever pieces their bytes come in", () => {
    fc.assert(
      fc.property(envelopes, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (given, sizes) => {
        const bytes = joined(given.map(writeEnvelope));
        const reader = new EnvelopeReader(300);
        const read: Envelope[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          reader.push(bytes.slice(at, at + size));
          at += size;
          for (let next = reader.next(); next !== undefined; next = reader.next()) read.push(next);
        }
        expect(reader.isPartial).toBe(false);
        expect(read.map(({ flags, bytes }) => [flags, [...bytes]])).toEqual(
          given.map(({ flags, bytes }) => [flags, [...bytes]]),
        );
      }),
    );
  });

  it("are refused by their length, before they have arrived", () => {
    const reader = new EnvelopeReader(10);
    reader.push(Uint8Array.of(0, 0, 0, 0, 11));
    expect(() => reader.next()).toThrow(/larger than 10 bytes/);
  });

  it("with flags that nobody has defined are refused", () => {
    const reader = new EnvelopeReader(10);
    reader.push(Uint8Array.of(4, 0, 0, 0, 0));
    expect(() => reader.next()).toThrow(/flags 4/);
  });

  it("are read from a body, which must not end within one", async () => {
    const end = writeEnvelope({ flags: FLAG_END, bytes: Uint8Array.of(1, 2) });
    expect(await all(bodyOf([end, end.subarray(0, 6), end.subarray(6)]))).toHaveLength(2);
    expect(await all(null)).toEqual([]);
    const cut = await all(bodyOf([end, end.subarray(0, 6)])).catch((error: unknown) => error);
    expect(cut).toBeInstanceOf(RpcError);
    expect((cut as RpcError).message).toContain("ends within a message");
  });

  it("that nobody reads on cancel the body", async () => {
    let cancelled = false;
    const piece = writeEnvelope({ flags: 0, bytes: Uint8Array.of(1) });
    for await (const _ of readEnvelopes(bodyOf([piece, piece], () => (cancelled = true)).getReader(), 10)) break;
    expect(cancelled).toBe(true);
  });
});
