/**
 * Methods that Node adds to byte arrays. If they are missing, the platform's TextEncoder and TextDecoder are used,
 * which are slower.
 */
interface NativeText {
  /** Writes UTF-8 at `at` and returns how many bytes. */
  utf8Write(this: Uint8Array, text: string, at: number): number;
  utf8Slice(this: Uint8Array, start: number, end: number): string;
}

/** How long strings cross between JavaScript and bytes. */
interface TextPlatform {
  /** Writes UTF-8 at `at` if there is room, and returns the number of bytes. Lone surrogates become U+FFFD. */
  write(bytes: Uint8Array, at: number, text: string): number;
  /** Invalid UTF-8 becomes U+FFFD. */
  read(bytes: Uint8Array, start: number, end: number): string;
}

/** Bytes of text that are read one by one: a call into the platform costs more. */
const SHORT_TEXT = 12;
const { fromCharCode } = String;

const encoder = new TextEncoder();
// Without ignoreBOM a leading U+FEFF would be lost.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Any platform with the Encoding standard. */
const webText: TextPlatform = {
  write: (bytes, at, text) => encoder.encodeInto(text, bytes.subarray(at)).written,
  read: (bytes, start, end) => readMediumAscii(bytes, start, end) ?? decoder.decode(bytes.subarray(start, end)),
};

/** Text of up to a few times `SHORT_TEXT`, piece by piece: a TextDecoder costs more. */
function readMediumAscii(bytes: Uint8Array, start: number, end: number): string | undefined {
  if (end - start > 4 * SHORT_TEXT) return undefined;
  let text = "";
  for (let at = start; at < end; at += SHORT_TEXT) {
    const part = readShortAscii(bytes, at, Math.min(SHORT_TEXT, end - at));
    if (part === undefined) return undefined;
    text += part;
  }
  return text;
}

let platform: TextPlatform = nativeText() ?? webText;

/** Sets the platform; for measurements and tests. */
export function useTextPlatform(next: "native" | "web"): void {
  platform = (next === "native" ? nativeText() : undefined) ?? webText;
}

function nativeText(): TextPlatform | undefined {
  const native = (globalThis as { Buffer?: { prototype?: Partial<NativeText> } }).Buffer?.prototype;
  const { utf8Write, utf8Slice } = native ?? {};
  if (typeof utf8Write !== "function" || typeof utf8Slice !== "function") return undefined;
  return {
    write: (bytes, at, text) => utf8Write.call(bytes, text, at),
    read: (bytes, start, end) => utf8Slice.call(bytes, start, end),
  };
}

export function writeUtf8(bytes: Uint8Array, at: number, text: string): number {
  return platform.write(bytes, at, text);
}

/** The text of `bytes[start, end)`. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length <= SHORT_TEXT) {
    const text = readShortAscii(bytes, start, length);
    if (text !== undefined) return text;
  }
  return platform.read(bytes, start, end);
}

/** Up to 12 bytes of ASCII, unrolled: a call into the platform costs more than that many characters. */
function readShortAscii(bytes: Uint8Array, s: number, length: number): string | undefined {
  const b = bytes as unknown as { readonly [index: number]: number };
  if (length < 4) {
    if (length === 0) return "";
    const c0 = b[s] as number;
    if (length === 1) return c0 > 127 ? undefined : fromCharCode(c0);
    const c1 = b[s + 1] as number;
    if (length === 2) return (c0 | c1) > 127 ? undefined : fromCharCode(c0, c1);
    const c2 = b[s + 2] as number;
    return (c0 | c1 | c2) > 127 ? undefined : fromCharCode(c0, c1, c2);
  }
  const c0 = b[s] as number;
  const c1 = b[s + 1] as number;
  const c2 = b[s + 2] as number;
  const c3 = b[s + 3] as number;
  if ((c0 | c1 | c2 | c3) > 127) return undefined;
  if (length === 4) return fromCharCode(c0, c1, c2, c3);
  const c4 = b[s + 4] as number;
  if (length === 5) return c4 > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4);
  const c5 = b[s + 5] as number;
  if (length === 6) return (c4 | c5) > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5);
  const c6 = b[s + 6] as number;
  if (length === 7) return (c4 | c5 | c6) > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5, c6);
  const c7 = b[s + 7] as number;
  if ((c4 | c5 | c6 | c7) > 127) return undefined;
  if (length === 8) return fromCharCode(c0, c1, c2, c3, c4, c5, c6, c7);
  const c8 = b[s + 8] as number;
  if (length === 9) return c8 > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5, c6, c7, c8);
  const c9 = b[s + 9] as number;
  if (length === 10) return (c8 | c9) > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9);
  const c10 = b[s + 10] as number;
  if (length === 11) {
    return (c8 | c9 | c10) > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10);
  }
  const c11 = b[s + 11] as number;
  return (c8 | c9 | c10 | c11) > 127 ? undefined : fromCharCode(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11);
}
