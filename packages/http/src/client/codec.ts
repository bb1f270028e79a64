import type { AnyMethod, MessageCodec } from "@quicrpc/core/generated";
import type { ErrorDetail } from "../protocol/error-json.js";
import type { NamedDetails } from "../protocol/packed-detail.js";

/** How the messages of calls are encoded over HTTP. */
export interface HttpCodec {
  /** The name in content types: "json" of `application/json`. */
  readonly name: string;
  /** Returns the codec of a method's messages in this form, for the generated one; undefined where the method has no message there. */
  of(codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined;
  /**
   * Finds and reads the details that the server has sent of an error; undefined where there are none of this library. Default: those in
   * MessagePack.
   */
  readDetails?(details: readonly ErrorDetail[], method: AnyMethod): NamedDetails | undefined;
}

/** MessagePack by the generated codecs, which need no schema at run time. */
export const messagePack: HttpCodec = {
  name: "msgpack",
  of: (codec) => codec,
};
