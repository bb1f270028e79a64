/** Stages of a drain, as a goaway frame announces them. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** The sender accepts no more calls; those in progress continue. */
export const Refusing = 0x0;
/** The sender makes no more calls, and all of its calls are answered. */
export const Finished = 0x1;
/**
 * The sender is about to refuse calls. Names the address that takes them instead, and the time that the calls in
 * progress have.
 */
export const Departing = 0x2;
