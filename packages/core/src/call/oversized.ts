import { RpcError } from "../errors.js";
import type { StreamLimits } from "../limits.js";
import type { Frame } from "../wire/frame.js";
import { tooLarge } from "../wire/one-frame.js";

/** What a call fails with that a frame belongs to which is larger than this side takes, or has memory for. */
export function oversized({ size }: Frame, { maxFrameBytes, maxSessionBytes }: StreamLimits): RpcError {
  if (size > maxFrameBytes) return tooLarge(size, maxFrameBytes, " of its receiver");
  const text = `the receiver has no memory for a frame of ${size} bytes: limits.maxSessionBytes is ${maxSessionBytes}`;
  return new RpcError("resource_exhausted", text);
}
