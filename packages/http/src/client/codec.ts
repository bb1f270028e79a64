import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import type { ErrorDetail } from "../protocol/error-json.js";
import type { NamedDetails } from "../protocol/packed-detail.js";

/** An encoding of messages over HTTP. */
export interface HttpCodec {
  /** The codec's name in content types, such as "json" for `application/json`. */
  readonly name: string;
  /** Returns the codec of a method's messages in this encoding, for the generated codec; undefined if the method has no such message. */
  of(codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined;
  /**
   * Finds and decodes the details of an error that a server of this library has sent; undefined if there are none.
   * Default: details in MessagePack.
   */
  readDetails?(details: readonly ErrorDetail[], method: AnyMethod): NamedDetails | undefined;
}

/** MessagePack by the generated codecs, which need no schema at run time. */
export const messagePack: HttpCodec = {
  name: "msgpack",
  of: (codec) => codec,
};
