import { appendBytes } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { pack, unpack } from "@quicrpc/core/internal";

/** Codec of a method whose schema is not known: any value, or no message. The server validates the values. */
export const anyMessage: MessageCodec<unknown> = {
  encode(message, out) {
    if (message !== undefined) appendBytes(out, pack(message));
  },
  decode: (bytes, start, end) => (start === end ? undefined : unpack(bytes, start, end)),
};
