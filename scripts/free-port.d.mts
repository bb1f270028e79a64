/** The number of a port that nobody listens at, neither over UDP nor over TCP, at any address. */
export function freePort(): Promise<number>;
