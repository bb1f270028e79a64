import { RpcError } from "../errors.js";

/** The error of a message whose frame is larger than its sender allows, or, `of its receiver`, that. */
export function tooLarge(size: number, maxFrameBytes: number, whose: "" | " of its receiver" = ""): RpcError {
  const text = `a message makes a frame of ${size} bytes, and limits.maxFrameBytes${whose} is ${maxFrameBytes}`;
  const hint = "send it in parts, as a stream, or raise limits.maxFrameBytes on both sides";
  return new RpcError("resource_exhausted", text, { hint });
}
