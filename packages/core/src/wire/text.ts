const encoder = new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder();

/** Returns `text`, cut between characters so that its UTF-8 has at most `maxBytes`. */
export function cutText(text: string, maxBytes: number): string {
  return text.length * 3 <= maxBytes ? text : decoder.decode(encodeText(text, maxBytes));
}

/** UTF-8 of `text`, cut between characters so that it has at most `maxBytes`. */
export function encodeText(text: string, maxBytes: number = Number.POSITIVE_INFINITY): Uint8Array {
  const bytes = encoder.encode(text.slice(0, maxBytes));
  if (bytes.length <= maxBytes) return bytes;
  let end = maxBytes;
  while (end > 0 && ((bytes[end] as number) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}
