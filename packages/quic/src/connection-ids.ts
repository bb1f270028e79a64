import { invalidOption } from "./errors.js";

/**
 * Connection ids that let a balancer find the server after the client's address has changed (QUIC-LB,
 * draft-ietf-quic-load-balancers-21).
 */
export interface ConnectionIdOptions {
  /**
   * Id of this server in the balancer's configuration: bytes, or hexadecimal digits with or without `0x`. The ids of
   * all servers have the same length. AWS Network Load Balancers call it `QuicServerId`, with 8 bytes.
   */
  readonly serverId: Uint8Array | string;
  /**
   * Key of 16 bytes with which balancer and servers encrypt ids, so that observers cannot tell which server a client
   * uses. Default: ids are not encrypted.
   */
  readonly key?: Uint8Array;
  /**
   * Bytes of the nonce: at least 4, and at most 16 together with `serverId`. Default 4, or 8 with a key if they fit.
   */
  readonly nonceBytes?: number;
  /** Number of the balancer's configuration that the ids belong to, from 0 to 6 (config rotation). Default 0. */
  readonly config?: number;
}

const LEAST_NONCE_BYTES = 4;
const KEYED_NONCE_BYTES = 8;
const MOST_BLOCK_BYTES = 16;
const HEXADECIMAL = /^(?:0x)?((?:[0-9a-f]{2})+)$/i;

/** Serialises the options for `Routing::parse` of the engine; empty for none. The engine validates the lengths. */
export function packConnectionIds(options: ConnectionIdOptions | undefined): Uint8Array {
  if (options === undefined) return new Uint8Array(0);
  const { serverId, key, config = 0 } = options;
  const id = bytesOf(serverId);
  const maxNonceBytes = key === undefined ? LEAST_NONCE_BYTES : KEYED_NONCE_BYTES;
  const { nonceBytes = Math.max(LEAST_NONCE_BYTES, Math.min(maxNonceBytes, MOST_BLOCK_BYTES - id.length)) } = options;
  if (key !== undefined && !(key instanceof Uint8Array && key.length === MOST_BLOCK_BYTES)) {
    throw invalidOption(`connectionIds.key must be a Uint8Array of ${MOST_BLOCK_BYTES} bytes`);
  }
  for (const [name, value] of Object.entries({ config, nonceBytes })) {
    if (!Number.isInteger(value) || value < 0 || value > 255) {
      throw invalidOption(`connectionIds.${name} must be a small integer, not ${String(value)}`);
    }
  }
  return Uint8Array.from([config, nonceBytes, id.length, ...id, ...(key ?? [])]);
}

function bytesOf(serverId: unknown): Uint8Array {
  if (serverId instanceof Uint8Array && serverId.length <= MOST_BLOCK_BYTES) return serverId;
  const digits = typeof serverId === "string" ? HEXADECIMAL.exec(serverId)?.[1] : undefined;
  if (digits !== undefined && digits.length <= 2 * MOST_BLOCK_BYTES) return new Uint8Array(Buffer.from(digits, "hex"));
  throw invalidOption("connectionIds.serverId must be at most 12 bytes: a Uint8Array, or pairs of hexadecimal digits");
}
