import { type CallOptions, Metadata } from "@quicrpc/core";
import { type CallExtension, withCallOptions } from "@quicrpc/core/generated";
import { createOnceKey, FIRST, noteRepeated, ONCE_KEY } from "./once-key.js";

/** The extension of `once` methods: each call has a key, and a repeated call with the key gets the first one's response. */
export const onceCalls: CallExtension = {
  name: "once",
  kinds: ["unary"],
  servedBy: "durableRouter of @quicrpc/durable/generated",
  calling: (calling) => withCallOptions(calling, keyed),
  onRepeat: noteRepeated,
};

/** Returns call options with a key in the metadata: the existing one, `onceKey`, or a new one. */
function keyed(options: CallOptions = {}): CallOptions {
  let metadata: Metadata;
  try {
    metadata = new Metadata(options.metadata);
    if (metadata.has(ONCE_KEY)) return options;
    metadata.set(ONCE_KEY, options.onceKey ?? createOnceKey() + FIRST);
  } catch {
    // Encoding the metadata will fail the call.
    return options;
  }
  return { ...options, metadata };
}
