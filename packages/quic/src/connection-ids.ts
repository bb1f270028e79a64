import { invalidOption } from "./errors.js";

/**
 * Format of connection ids that let a balancer find the server after the client's address has changed (QUIC-LB,
 * draft-ietf-quic-load-balancers-21).
 */
export interface ConnectionIdOptions {
  /**
   * Id of this server in the balancer's configuration: bytes, or hexadecimal digits with or without `0x`. All servers'
   * ids must have the same length. AWS Network Load Balancers call it `QuicServerId`; it has 8 bytes.
   */
  readonly serverId: Uint8Array | string;
  /**
   * Key of 16 bytes that the balancer and its servers use to encrypt connection ids, so that observers cannot tell
   * which server a client uses. Default: ids are not encrypted.
   */
  readonly key?: Uint8Array;
  /**
   * Length of the nonce in bytes: at least 4; `serverId` and nonce together have at most 16 bytes. Default: 4, or 8
   * with a key if there is room.
   */
  readonly nonceBytes?: number;
  /**
   * Number of the balancer's configuration, from 0 to 6, which distinguishes old and new ids while the configuration
   * changes. Default 0.
   */
  readonly config?: number;
}

const LEAST_NONCE_BYTES = 4;
const KEYED_NONCE_BYTES = 8;
const MOST_BLOCK_BYTES = 16;
const HEXADECIMAL = /^(?:0x)?((?:[0-9a-f]{2})+)$/i;

/**
 * Serialises connection id options for the native engine, which validates the lengths. Empty if there are no options.
 */
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
