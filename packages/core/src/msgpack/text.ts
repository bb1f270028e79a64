/** Methods that Node adds to byte arrays. If they are missing, the slower TextEncoder and TextDecoder are used. */
interface NativeText {
  utf8Write(this: Uint8Array, text: string, at: number): number;
  utf8Slice(this: Uint8Array, start: number, end: number): string;
}

/** The platform's functions that convert between strings and UTF-8. */
interface TextPlatform {
  /**
   * Writes `text` as UTF-8 at position `at` if there is room, and returns the number of bytes. Lone surrogates become
   * U+FFFD.
   */
  write(bytes: Uint8Array, at: number, text: string): number;
  /** Decodes the UTF-8 in `bytes[start, end)`. Invalid bytes become U+FFFD. */
  read(bytes: Uint8Array, start: number, end: number): string;
}

/** Maximum bytes of a text that is read byte by byte, because a call into the platform takes longer. */
const SHORT_TEXT = 12;
const { fromCharCode } = String;

const encoder = new TextEncoder();
// Without `ignoreBOM` the decoder would drop a leading U+FEFF.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Text functions for any platform that implements the Encoding standard. */
const webText: TextPlatform = {
  write: (bytes, at, text) => encoder.encodeInto(text, bytes.subarray(at)).written,
  read: (bytes, start, end) => readMediumAscii(bytes, start, end) ?? decoder.decode(bytes.subarray(start, end)),
};

/**
 * Decodes ASCII text of up to four times `SHORT_TEXT` bytes without a TextDecoder, which takes longer. Returns
 * undefined if the text is longer or not ASCII.
 */
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

/**
 * Selects the text functions: Node's native ones, if available, or those of the Encoding standard. For measurements and
 * tests.
 */
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

/** Decodes the UTF-8 in `bytes[start, end)`. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  const length = end - start;
  if (length <= SHORT_TEXT) {
    const text = readShortAscii(bytes, start, length);
    if (text !== undefined) return text;
  }
  return platform.read(bytes, start, end);
}

/**
 * Decodes up to 12 bytes of ASCII; returns undefined if they are not ASCII. Unrolled, because a call into the platform
 * takes longer than so few characters.
 */
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
