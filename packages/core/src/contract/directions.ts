import type { AnyMethod } from "./descriptor.js";

/** Whether the method is a duplex of raw bytes, whose two directions end independently. */
export function isTunnel({ kind, input, output }: AnyMethod): boolean {
  return kind === "duplex" && input?.bytes === true && output?.bytes === true;
}

/** Whether the caller streams its input. */
export function streamsInput({ kind }: AnyMethod): boolean {
  return kind === "client_stream" || kind === "duplex";
}

/** Whether the callee streams its output. */
export function streamsOutput({ kind }: AnyMethod): boolean {
  return kind === "server_stream" || kind === "duplex";
}
