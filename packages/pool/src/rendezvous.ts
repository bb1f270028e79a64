/** A hash of 32 bits of a text (FNV-1a, mixed): the same on every platform and in every version. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mixed(hash);
}

/**
 * Returns the preference of one hash's holder for another, from 0 to below 1, by rendezvous hashing. Each holder keeps
 * its most preferred candidates when others come or go, and each candidate is preferred by equally many holders.
 */
export function preference(holder: number, candidate: number): number {
  return mixed(mixed(holder ^ candidate) + Math.imul(candidate, 0x9e3779b1)) / 0x1_0000_0000;
}

/** Spreads the bits of a hash (the last step of MurmurHash3). */
function mixed(seed: number): number {
  let hash = seed;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
