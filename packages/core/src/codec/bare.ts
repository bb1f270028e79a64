import type { MessageCodec } from "../contract/codec.js";
import { RpcError } from "../errors.js";
import { decoding, encoding, type Read, type Write } from "./halves.js";

/**
 * Creates the codec of a message without a run-time schema: a value that `write` or `read` cannot handle is refused
 * without an explanation. The generator uses it only for messages whose valid values both functions handle completely.
 *
 * @param name name of the message, for its errors
 */
export function bare<In, Out>(name: string, write: Write<In> | undefined, read?: Read<Out>): MessageCodec<In, Out> {
  const refuse = (cause?: unknown): never => {
    throw new RpcError("invalid_argument", `the value does not fit ${name}`, { cause });
  };
  const lack = (): never => {
    throw new RpcError("unimplemented", `${name} was generated for one direction only`);
  };
  return {
    encode: write === undefined ? lack : encoding(write, (_value, _out, misfit) => refuse(misfit)),
    decode: read === undefined ? lack : decoding(read, () => refuse()),
  };
}
