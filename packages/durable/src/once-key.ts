import { type CallOptions, Metadata, RpcError } from "@quicrpc/core";
import { type CallExtension, withCallOptions } from "@quicrpc/core/generated";

/** Metadata key that identifies a call of a `once` method. Over HTTP, it is the header field of this name. */
const ONCE_KEY = "idempotency-key";

/** Suffix of the key in a call that is certainly the first one with the key, so that no handler can have run for it. */
const FIRST = ";first";

const UUID_V7 = /^"?([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"?(;first)?$/i;

export interface ReceivedOnceKey {
  /** The key: a UUIDv7 in lower case. */
  readonly key: string;
  /** Creation time of the key in milliseconds since the epoch, by the caller's clock. */
  readonly madeAt: number;
  /** True if the caller has certainly made no earlier call with the key. */
  readonly first: boolean;
}

/**
 * Creates a key for a call of a `once` method: a UUIDv7, which contains its creation time. To repeat the call after a
 * restart of this program, store the key and pass it as `onceKey`.
 */
export function createOnceKey(now: number = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(now / 2 ** (40 - 8 * i)) % 256;
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/**
 * Reads the key from the metadata of a `once` call. Throws `RpcError` `invalid_argument` if the key is missing or
 * contains no creation time.
 */
export function readOnceKey(metadata: Metadata): ReceivedOnceKey {
  const text = metadata.get(ONCE_KEY);
  const [, uuid, first] = UUID_V7.exec(text ?? "") ?? [];
  if (uuid === undefined) {
    const problem = text === undefined ? "there is none" : "its value is not one";
    throw new RpcError(
      "invalid_argument",
      `a call of a once method needs the metadata ${ONCE_KEY}, a UUIDv7; ${problem}`,
      {
        details: { once: "malformed" },
      },
    );
  }
  const key = uuid.toLowerCase();
  return { key, madeAt: Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16), first: first !== undefined };
}

/**
 * Records that a call with the key may have reached a handler. Later calls with the key are then sent as possible
 * repetitions.
 */
function noteRepeated(metadata: Metadata): void {
  const text = metadata.get(ONCE_KEY);
  if (text?.endsWith(FIRST) === true) metadata.set(ONCE_KEY, text.slice(0, -FIRST.length));
}

/**
 * Client support for `once` methods: each call sends a key, and a repeated call with the same key receives the result
 * of the first one.
 */
export const onceCalls: CallExtension = {
  name: "once",
  kinds: ["unary"],
  servedBy: "durableRouter of @quicrpc/durable/generated",
  calling: (calling) => withCallOptions(calling, keyed),
  onRepeat: noteRepeated,
};

/** Returns call options with a key in the metadata: the key that is already there, `onceKey`, or a new one. */
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
