/** Stages of draining a session. A goaway frame announces the sender's stage. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** The sender accepts no more calls; those in progress continue. */
export const Refusing = 0x0;
/** The sender makes no more calls, and has received the answers to all of its calls. */
export const Finished = 0x1;
/**
 * The sender is about to refuse calls. The frame names the server that accepts them instead, and the time that calls in
 * progress have.
 */
export const Departing = 0x2;
