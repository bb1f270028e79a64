/**
 * Returns the id of a service that does not state one: FNV-1a (32 bits) of its full name in UTF-8, folded to 16 bits; 0
 * becomes 1. It does not depend on other services, so services from different packages can be served together.
 */
export function defaultServiceId(name: string): number {
  const hash = fnv1a(name);
  const folded = ((hash >>> 16) ^ hash) & 0xffff;
  return folded === 0 ? 1 : folded;
}

/** Returns FNV-1a of `text` in UTF-8, as an unsigned 32-bit integer. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
