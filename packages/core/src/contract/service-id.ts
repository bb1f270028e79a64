/**
 * Returns the default id of a service, computed from its full name: the 32-bit FNV-1a hash of the name in UTF-8, folded
 * to 16 bits; 0 becomes 1. It does not depend on other services, so a server can combine services from different
 * packages.
 */
export function defaultServiceId(name: string): number {
  const hash = fnv1a(name);
  const folded = ((hash >>> 16) ^ hash) & 0xffff;
  return folded === 0 ? 1 : folded;
}

/** Returns the FNV-1a hash of `text` in UTF-8, as an unsigned 32-bit integer. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}
