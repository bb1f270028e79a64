import { bytes } from "./harness.js";

/** A variable-length integer of two bytes, or of one (RFC 9000 §16). */
export function varint(value: number): number[] {
  return value < 64 ? [value] : [0x40 | (value >> 8), value & 0xff];
}

export function frame(kind: number, payload: readonly number[]): number[] {
  return [...varint(kind), ...varint(payload.length), ...payload];
}

/** HEADERS with literal fields (RFC 9204 §4.5.6). */
export function headers(fields: Record<string, string>): number[] {
  const section = Object.entries(fields).flatMap(([name, value]) => [
    ...(name.length < 7 ? [0x20 | name.length] : [0x27, name.length - 7]),
    ...bytes(name),
    ...(value.length < 127 ? [value.length] : [0x7f, ((value.length - 127) & 0x7f) | 0x80, (value.length - 127) >> 7]),
    ...bytes(value),
  ]);
  return frame(1, [0, 0, ...section]);
}

/** The fields that ask for a session. */
export const CONNECT = {
  ":method": "CONNECT",
  ":protocol": "webtransport",
  ":scheme": "https",
  ":authority": "a",
  ":path": "/",
};
/** Of the control stream: datagrams and sessions. */
export const SETTINGS = frame(4, [8, 1, 0x33, 1]);
/** The control stream. */
export const CONTROL = [0, ...SETTINGS];
