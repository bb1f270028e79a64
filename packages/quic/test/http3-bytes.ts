import { bytes } from "./harness.js";

/** A variable-length integer (RFC 9000 §16). */
export function varint(value: number): number[] {
  if (value < 64) return [value];
  if (value < 2 ** 14) return [0x40 | (value >> 8), value & 0xff];
  const [length, mark] = value < 2 ** 30 ? [4, 0x80] : [8, 0xc0];
  const bytes = Array.from({ length }, (_, at) => Math.floor(value / 256 ** (length - 1 - at)) % 256);
  return bytes.map((byte, at) => (at === 0 ? byte | mark : byte));
}

/** The integer at `at`, exact below 2^53, and where it ends; nothing while bytes are missing. */
export function readVarint(data: Uint8Array, at: number): [value: number, end: number] | undefined {
  const first = data[at];
  if (first === undefined) return undefined;
  const end = at + (1 << (first >> 6));
  if (data.length < end) return undefined;
  return [data.subarray(at + 1, end).reduce((value, byte) => value * 256 + byte, first & 0x3f), end];
}

/** The whole frames, or capsules, from `at` on: type, payload. */
export function readFrames(data: Uint8Array, at = 0): [kind: number, payload: Uint8Array][] {
  const frames: [number, Uint8Array][] = [];
  for (;;) {
    const kind = readVarint(data, at);
    const length = kind && readVarint(data, kind[1]);
    if (kind === undefined || length === undefined || data.length < length[1] + length[0]) return frames;
    at = length[1] + length[0];
    frames.push([kind[0], data.subarray(length[1], at)]);
  }
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
/** The control stream's settings: datagrams and sessions. */
export const SETTINGS = frame(4, [8, 1, 0x33, 1]);
/** The control stream. */
export const CONTROL = [0, ...SETTINGS];

/** A control stream with these settings, by their ids. */
export function control(settings: Readonly<Record<number, number>>): number[] {
  const pairs = Object.entries(settings).flatMap(([id, value]) => [...varint(Number(id)), ...varint(value)]);
  return [0, ...frame(4, pairs)];
}

/** A DATA frame with a capsule that carries an integer. */
export function capsule(kind: number, value: number): number[] {
  return frame(0, frame(kind, varint(value)));
}

/** An integer with an N-bit prefix (RFC 7541 §5.1), and where it ends. */
function prefixed(data: Uint8Array, at: number, bits: number): [value: number, end: number] {
  const mask = 2 ** bits - 1;
  let value = (data[at] ?? 0) & mask;
  if (value < mask) return [value, at + 1];
  for (let shift = 1; ; shift *= 128) {
    const byte = data[++at] ?? 0;
    value += (byte & 0x7f) * shift;
    if (byte < 0x80) return [value, at + 1];
  }
}

/** The fields of a section of literal fields without Huffman coding, as this engine writes it. */
export function readFields(section: Uint8Array): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 2; at < section.length; ) {
    const [nameLength, name] = prefixed(section, at, 3);
    const [length, value] = prefixed(section, name + nameLength, 7);
    const text = (start: number, end: number): string => Buffer.from(section.subarray(start, end)).toString();
    fields.set(text(name, name + nameLength), text(value, value + length));
    at = value + length;
  }
  return fields;
}
