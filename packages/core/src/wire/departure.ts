import { Cursor } from "./cursor.js";
import type { Frame } from "./frame.js";

/** The most bytes of an address in a goaway; a longer one is passed over. */
export const MAX_ADDRESS_BYTES = 1024;

/** Notice of a peer that begins to drain a session: where calls are taken instead, and how long those in progress have. */
export interface Departure {
  /** The URL of a server that takes calls instead. It is unverified: a client uses it only if its options trust it. */
  readonly to?: string | undefined;
  /** Milliseconds that calls in progress had left when it was said. */
  readonly withinMs?: number | undefined;
  /** The peer's process ends with the drain: a resumable call that is not over by then cannot be resumed. */
  readonly final?: boolean | undefined;
}

// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** Key of the field: milliseconds (varint). */
export const WITHIN = 0x1;
/** Key of the field: UTF-8. */
export const TO = 0x3;
/** Key of the field: nothing. */
export const FINAL = 0x5;

/** Reads a goaway of the stage `Departing`: stage (varint), fields as in a head. Fields that are not known here are passed over. */
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
