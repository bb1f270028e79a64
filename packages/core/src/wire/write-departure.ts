import { type Departure, FINAL, MAX_ADDRESS_BYTES, TO, WITHIN } from "./departure.js";
import { writeField } from "./head.js";
import { encodeText, type FrameWriter, varintLength, writeVarint } from "./writer.js";

/**
 * Appends the fields of a goaway frame of the stage `Departing`. The URL `to` must have at most `MAX_ADDRESS_BYTES`
 * bytes.
 */
export function writeDeparture(out: FrameWriter, { to, withinMs, final }: Departure): void {
  if (withinMs !== undefined) {
    const value = new Uint8Array(varintLength(withinMs));
    writeVarint(value, 0, withinMs);
    writeField(out, WITHIN, value);
  }
  if (to !== undefined) writeField(out, TO, encodeText(to, MAX_ADDRESS_BYTES));
  if (final === true) writeField(out, FINAL, new Uint8Array(0));
}
