import type { UnsharedBytes } from "../platform-types.js";
import type { KeyingMaterialExporter } from "../transport/session.js";
import { CHANNEL_BYTES } from "../wire/proof.js";
import { sha256 } from "./keys.js";

/** First bytes of the signed data of a proof, so that the signature cannot be used for another purpose. */
const PURPOSE = "quicrpc.v1.proof";

/** The exporter label of RFC 9266. Over WebTransport it is used within the context of `EXPORTER-WebTransport`. */
const CHANNEL_LABEL = "EXPORTER-Channel-Binding";

/** Returns the bytes that a client signs: purpose | nonce | SHA-256 of its credentials (of nothing if it has none) | statement. */
export async function signedBytes(
  nonce: Uint8Array,
  credentials: string | undefined,
  statement: Uint8Array,
): Promise<UnsharedBytes> {
  const parts = [new TextEncoder().encode(PURPOSE), nonce, await sha256(credentials ?? ""), statement];
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Returns a value that only the two ends of the TLS connection know; empty if the platform does not export it. */
export async function channelOf(transport: KeyingMaterialExporter): Promise<UnsharedBytes> {
  const label = new TextEncoder().encode(CHANNEL_LABEL);
  try {
    const material = await transport.exportKeyingMaterial?.(label, new Uint8Array(0), CHANNEL_BYTES);
    const bytes = new Uint8Array(material ?? []);
    return bytes.length === CHANNEL_BYTES ? bytes : new Uint8Array(0);
  } catch {
    return new Uint8Array(0);
  }
}
