import type { MessageCodec } from "@quicrpc/core/generated";
import { jsonCodecOf } from "../json/json-codec.js";

/** A way to write messages, by its name in content types. */
export interface MessageFormat {
  readonly name: "json" | "msgpack";
  /** The codec of a message; undefined for none. Throws `RpcError` `unimplemented` where the messages have no such form. */
  codecOf(codec: MessageCodec<unknown> | undefined): MessageCodec<unknown> | undefined;
  /** Writes a message as text, where the format is text. Throws as `encode` of the codec does. */
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

/** JSON, the format of errors where a request names none. */
export const JSON_FORMAT: MessageFormat = FORMATS.get("json") as MessageFormat;

/** The format that content types call `name`; undefined where there is none. */
export function formatNamed(name: string): MessageFormat | undefined {
  return FORMATS.get(name);
}

/** The names of all formats. */
export const FORMAT_NAMES: readonly string[] = [...FORMATS.keys()];
