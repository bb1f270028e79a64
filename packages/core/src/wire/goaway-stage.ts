/** Stages of a drain, as a goaway frame announces them. */
// Constants of a module, not of an object: bundlers leave out those that are not used, and shorten the others.

/** It takes no more calls; those in progress go on. */
export const Refusing = 0x0;
/** It makes no more calls, and has the answers of all it made. */
export const Finished = 0x1;
/** It is about to refuse calls, and says where they are taken instead and how long those in progress have. */
export const Departing = 0x2;
