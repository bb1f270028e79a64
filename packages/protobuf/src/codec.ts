import { RpcError } from "@quicrpc/core";
import type { MessageCodec } from "@quicrpc/core/generated";
import { type PlainCodec, asError, encoding, isMisfit } from "@quicrpc/core/internal";
import { readWhole } from "./reader.js";
import type { ProtobufMessage } from "./service.js";
import { LEVELS } from "./writer.js";

const asIs: PlainCodec<unknown> = { encode: (value) => value, decode: (value) => value };

/**
 * Returns the codec that sends the messages of `codec` as protobuf, with the same validation. Throws `RpcError`
 * `unimplemented` if the codec has no schema at run time.
 */
export function protobufCodec(codec: MessageCodec<unknown>, message: ProtobufMessage): MessageCodec<unknown> {
  const { name, read, write } = message;
  const plain = codec.bytes === true ? asIs : codec.plain;
  if (plain === undefined) {
    const remedy = "generate it with quicrpc gen, without --no-explain";
    throw new RpcError("unimplemented", `protobuf needs the schema of ${name} at run time: ${remedy}`);
  }
  const writeInto = encoding(
    (b: Uint8Array, p: number, value: unknown) => write(b, p, value, LEVELS),
    (_value, _out, error) => {
      const reason = isMisfit(error) ? "protobuf cannot represent it" : asError(error).message;
      throw new RpcError("invalid_argument", `the value cannot be sent as ${name}: ${reason}`, { cause: error });
    },
  );
  return {
    encode: (value, out) => writeInto(plain.encode(value), out),
    decode(bytes, start, end) {
      let value: unknown;
      try {
        value = readWhole(bytes, start, end, read);
      } catch (error) {
        const reason = isMisfit(error) ? "" : `: ${asError(error).message}`;
        throw new RpcError("invalid_argument", `the message is not a valid ${name}${reason}`, { cause: error });
      }
      return plain.decode(value);
    },
  };
}
