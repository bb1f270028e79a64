import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { Frame } from "../wire/frame.js";

/** What a call fails with that a frame larger than this side takes belongs to. */
export function oversized({ size }: Frame, { maxFrameBytes }: Limits): RpcError {
  const text = `a message made a frame of ${size} bytes, and limits.maxFrameBytes of its receiver is ${maxFrameBytes}`;
  return new RpcError("resource_exhausted", text);
}
