const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** UTF-8 of `text`, cut between characters so that it has at most `maxBytes`. */
export function encodeText(text: string, maxBytes: number): Uint8Array {
  const bytes = encoder.encode(text.length > maxBytes ? text.slice(0, maxBytes) : text);
  if (bytes.length <= maxBytes) return bytes;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}

export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  return decoder.decode(bytes.subarray(start, end));
}
