import { Received } from "../call/messages/received.js";
import type { MessageCodec } from "../contract/descriptor.js";

/** Returns a codec that wraps each decoded message together with its arrival time. */
export function measuredOutput(codec: MessageCodec<unknown>): MessageCodec<unknown> {
  const { plain } = codec;
  const measure = (decode: () => unknown): Received => {
    const arrived = performance.now();
    const value = decode();
    return new Received(value, arrived, performance.now());
  };
  return {
    ...codec,
    encode: codec.encode.bind(codec),
    decode: (bytes, start, end) => measure(() => codec.decode(bytes, start, end)),
    ...(plain !== undefined && {
      plain: { encode: plain.encode.bind(plain), decode: (value: unknown) => measure(() => plain.decode(value)) },
    }),
  };
}
