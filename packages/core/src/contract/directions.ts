import type { AnyMethod } from "./descriptor.js";

/** Returns true if a method is a duplex of raw bytes. The two directions of its calls end independently. */
export function isTunnel({ kind, input, output }: AnyMethod): boolean {
  return kind === "duplex" && input?.bytes === true && output?.bytes === true;
}

/** Returns true if the caller of a method sends a stream. */
export function streamsInput({ kind }: AnyMethod): boolean {
  return kind === "client_stream" || kind === "duplex";
}

/** Returns true if the callee of a method sends a stream. */
export function streamsOutput({ kind }: AnyMethod): boolean {
  return kind === "server_stream" || kind === "duplex";
}
