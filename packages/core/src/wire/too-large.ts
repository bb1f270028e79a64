import { RpcError } from "../errors.js";

/** The error of a message whose frame is larger than its sender allows, or, `of its receiver`, that. */
export function tooLarge(size: number, maxFrameBytes: number, whose: "" | " of its receiver" = ""): RpcError {
  const text = `a message makes a frame of ${size} bytes, and limits.maxFrameBytes${whose} is ${maxFrameBytes}`;
  return new RpcError("resource_exhausted", text);
}
