/** Calls that a peer takes at once, as long as its hello has not said how many. */
export const ASSUMED_CALLS = 4096;
