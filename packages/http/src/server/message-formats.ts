import type { MessageCodec } from "@quicrpc/core/generated";
import { jsonCodecOf } from "../json/json-codec.js";

/** An encoding of messages, such as JSON. Its name is part of content types. */
export interface MessageFormat {
  readonly name: "json" | "msgpack" | "proto";
  /**
   * Returns the codec of a message in this format, given its generated codec; undefined if the method has no such
   * message. Throws `RpcError` `unimplemented` if the format cannot represent the message.
   *
   * @param role whether the message is the method's input or output
   */
  codecOf(codec: MessageCodec<unknown> | undefined, role: "input" | "output"): MessageCodec<unknown> | undefined;
  /** Encodes a message as a string, if the format is text. Throws `RpcError` if the value does not match the schema. */
  textOf?(codec: MessageCodec<unknown>, value: unknown): string;
}

const FORMATS: ReadonlyMap<string, MessageFormat> = new Map<string, MessageFormat>([
  [
    "json",
    {
      name: "json",
      codecOf: (codec) => codec && jsonCodecOf(codec),
      textOf: (codec, value) => jsonCodecOf(codec).write(value),
    },
  ],
  ["msgpack", { name: "msgpack", codecOf: (codec) => codec }],
]);

/** The JSON format, also used for the errors of requests that name no format. */
export const JSON_FORMAT: MessageFormat = FORMATS.get("json") as MessageFormat;

/** Returns the format with this name in content types; undefined if there is none. */
export function formatNamed(name: string): MessageFormat | undefined {
  return FORMATS.get(name);
}

export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()];
