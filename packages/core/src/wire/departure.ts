import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";

/** Maximum bytes of the address in a goaway frame; a longer one is ignored. */
export const MAX_ADDRESS_BYTES = 1024;

/**
 * A peer's announcement that it begins to drain a session: the server that accepts calls instead, and the time that
 * calls in progress have.
 */
export interface Departure {
  /** URL of a server that accepts calls instead. It is unverified: a client uses it only if its options allow that. */
  readonly to?: string | undefined;
  /** Milliseconds that calls in progress had left when the peer sent the announcement. */
  readonly withinMs?: number | undefined;
  /**
   * True if the peer's process exits after the drain, so that resumable calls that have not ended by then cannot be
   * resumed.
   */
  readonly final?: boolean | undefined;
}

// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** Key of the field with the remaining time: milliseconds (varint). */
export const WITHIN = 0x1;
/** Key of the field with the other server's URL: UTF-8. */
export const TO = 0x3;
/** Key of the field, without a value, that announces the end of the peer's process. */
export const FINAL = 0x5;

/** Reads a goaway frame of the stage `Departing`: stage (varint), then fields as in a head. Ignores unknown fields. */
export function readDeparture({ bytes, start, end }: Frame): Departure {
  const cursor = new Cursor(bytes, start, end);
  cursor.varint();
  let to: string | undefined;
  let withinMs: number | undefined;
  let final = false;
  while (cursor.position < end) {
    const key = cursor.varint();
    const value = cursor.nested();
    if (key === WITHIN) withinMs = value.varint();
    else if (key === TO && value.end - value.position <= MAX_ADDRESS_BYTES) to = value.text();
    else if (key === FINAL) final = true;
  }
  return { to, withinMs, final };
}
