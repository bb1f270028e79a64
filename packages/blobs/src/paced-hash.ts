import { ownTurn } from "@quicrpc/core/internal";
import type { Sha256 } from "./sha256.js";

/** Number of bytes to hash in one turn of the event loop. */
const TURN_BYTES = 262_144;

/**
 * Hashes large content in several turns of the event loop, so that a peer that requests this repeatedly does not block
 * other peers.
 */
export class PacedHash {
  private readonly hash: Sha256;
  private remaining: number = TURN_BYTES;

  constructor(hash: Sha256) {
    this.hash = hash;
  }

  async update(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      if (this.remaining === 0) {
        await ownTurn();
        this.remaining = TURN_BYTES;
      }
      const part = bytes.subarray(at, at + this.remaining);
      this.hash.update(part);
      this.remaining -= part.length;
      at += part.length;
    }
  }
}
