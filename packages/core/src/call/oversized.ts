import type { RpcError } from "../errors.js";
import type { StreamLimits } from "../limits.js";
import type { Frame } from "../wire/frame.js";
import { tooLarge } from "../wire/one-frame.js";

/** What a call fails with that a frame larger than this side takes belongs to. */
export function oversized({ size }: Frame, { maxFrameBytes }: StreamLimits): RpcError {
  return tooLarge(size, maxFrameBytes, " of its receiver");
}
