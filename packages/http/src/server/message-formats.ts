import type { MessageCodec } from "@quicrpc/core/generated";
import { jsonCodecOf } from "../json/json-codec.js";

/** An encoding of messages, by its name in content types. */
export interface MessageFormat {
  readonly name: "json" | "msgpack" | "proto";
  /**
   * Returns the codec of a message; undefined for none. Throws `RpcError` `unimplemented` if the messages do not
   * support this format.
   *
   * @param role the message's place in the method, for formats in which a schema may have several forms
   */
  codecOf(codec: MessageCodec<unknown> | undefined, role: "input" | "output"): MessageCodec<unknown> | undefined;
  /** Encodes a message as text, if the format is text. Throws as `encode` of the codec does. */
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

/** JSON, the format of errors if a request names none. */
export const JSON_FORMAT: MessageFormat = FORMATS.get("json") as MessageFormat;

/** Returns the format that content types call `name`; undefined if there is none. */
export function formatNamed(name: string): MessageFormat | undefined {
  return FORMATS.get(name);
}

/** The names of all formats. */
export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()];
