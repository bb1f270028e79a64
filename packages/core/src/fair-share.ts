/**
 * Whether one of several that share places may take one more: the more places the others have, the fewer it may have, so that a few cannot
 * take all of them.
 * @param own places that it has
 * @param taken places that all have
 * @param places all places
 * @param share places that it may have if the others have none
 */
export function hasShare(own: number, taken: number, places: number, share: number): boolean {
  return own < Math.ceil(share * (1 - (taken - own) / places));
}
