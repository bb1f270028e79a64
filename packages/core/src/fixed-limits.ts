/**
 * How deep messages may be nested (docs/protocol.md §3). Not a setting of a session: codecs are made before there is one, and
 * what one side writes the other must be able to read.
 */
export const MAX_DEPTH = 100;

/** Characters of a cursor. Not a setting: whoever keeps cursors must know what fits. */
export const MAX_CURSOR_LENGTH = 1024;

/**
 * Distinct keys that a message may have in objects whose schema does not declare them. Not a setting: it bounds the time for which one message
 * holds the event loop.
 */
export const MAX_DISTINCT_KEYS = 50_000;
