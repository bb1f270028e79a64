/**
 * Returns true if one of several users of shared places may take another one. The more places the others have, the
 * fewer it may have, so that a few users cannot take all of them.
 *
 * @param own places that it has
 * @param taken places that all users have
 * @param places number of places
 * @param share places that it may have if the others have none
 */
export function hasShare(own: number, taken: number, places: number, share: number): boolean {
  return own < Math.ceil(share * (1 - (taken - own) / places));
}
