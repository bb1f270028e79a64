import { expect, it } from "vitest";
import { byteStreamTransport, type ByteStream, type ByteStreamHandler } from "./byte-stream.js";
import type { DirectStreamHandler } from "./session.js";

it("leaves a stream paused whose handler pauses it as it receives what was read before", async () => {
  let source: ByteStreamHandler | undefined;
  let paused = false;
  const bytes: Partial<ByteStream> = {
    attach: (handler) => void (source = handler),
    pause: () => void (paused = true),
    resume() {
      if (paused) source?.onData(Uint8Array.of(3));
      paused = false;
    },
  };
  const { sole } = byteStreamTransport(bytes as ByteStream, "server");
  if (sole === undefined) throw new Error("a byte stream is one lane");
  sole.peek?.(
    () => false,
    () => {},
  );
  source?.onData(Uint8Array.of(1, 2));
  expect(paused).toBe(true);
  const received: number[] = [];
  const handler: Partial<DirectStreamHandler> = {
    onData(chunk) {
      received.push(...chunk);
      sole.pause();
    },
  };
  sole.attach(handler as DirectStreamHandler);
  await Promise.resolve();
  expect(received).toEqual([1, 2, 3]);
  expect(paused).toBe(true);
});
