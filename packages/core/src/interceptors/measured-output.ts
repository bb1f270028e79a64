import type { MessageCodec } from "../contract/descriptor.js";

/** A message on its way from the codec. */
export class Received {
  readonly value: unknown;
  readonly arrived: number;
  readonly decoded: number = performance.now();

  constructor(value: unknown, arrived: number) {
    this.value = value;
    this.arrived = arrived;
  }
}

/** The codec, whose decoded messages come in boxes that say when they arrived. */
export function measuredOutput(codec: MessageCodec<unknown>): MessageCodec<unknown> {
  const { plain } = codec;
  const measure = (decode: () => unknown): Received => {
    const arrived = performance.now();
    return new Received(decode(), arrived);
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
