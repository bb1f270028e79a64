import { RpcError } from "../errors.js";
import type { StreamLimits } from "../limits.js";
import { ByteWriter } from "./byte-writer.js";
import { VARINT2_MAX, writeVarint2, writeVarint4 } from "./varint.js";

/** Bytes set aside for the length of a frame. */
const LENGTH_SIZE = 4;

const NOTHING = new Uint8Array(0);

/**
 * One frame, with call id `id`, after `before`. Throws `RpcError` `resource_exhausted` where it is larger than `maxFrameBytes`. It has a
 * buffer of its own: `write` may run user code, which may write another.
 */
export function frameOf(
  type: number,
  id: number,
  write: (out: ByteWriter) => void,
  { maxFrameBytes }: StreamLimits,
  before: Uint8Array = NOTHING,
): Uint8Array {
  const out = new ByteWriter();
  const begin = before.length + LENGTH_SIZE;
  out.reserve(begin);
  out.position = begin;
  out.byte(type);
  out.varint(id);
  write(out);
  const length = out.position - begin;
  if (length + LENGTH_SIZE > maxFrameBytes) throw tooLarge(length + LENGTH_SIZE, maxFrameBytes);
  const short = length <= VARINT2_MAX;
  const start = short ? 2 : 0;
  out.buffer.set(before, start);
  (short ? writeVarint2 : writeVarint4)(out.buffer, start + before.length, length);
  return out.buffer.subarray(start, out.position);
}

/** What a message fails with whose frame is larger than its sender allows, or, `of its receiver`, that. */
export function tooLarge(size: number, maxFrameBytes: number, whose: "" | " of its receiver" = ""): RpcError {
  const text = `a message makes a frame of ${size} bytes, and limits.maxFrameBytes${whose} is ${maxFrameBytes}`;
  return new RpcError("resource_exhausted", text);
}
