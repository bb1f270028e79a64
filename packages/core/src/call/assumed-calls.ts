/** Assumed limit of concurrent calls until the peer's hello has announced it. */
export const ASSUMED_CALLS = 4096;
