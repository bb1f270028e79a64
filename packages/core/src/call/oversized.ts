import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import type { Frame } from "../wire/frame.js";
import { tooLarge } from "../wire/too-large.js";

/** Makes the error of a call with a frame that is larger than this side accepts, or has memory for. */
export function oversized({ size }: Frame, { maxFrameBytes, maxSessionBytes }: ClientLimits): RpcError {
  if (size > maxFrameBytes) return tooLarge(size, maxFrameBytes, " of its receiver");
  const text = `the receiver has no memory for a frame of ${size} bytes: limits.maxSessionBytes is ${maxSessionBytes}`;
  return new RpcError("resource_exhausted", text);
}
