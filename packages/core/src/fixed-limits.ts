/**
 * Most levels of nesting in a message (docs/protocol.md §3). It is not a session option, because codecs are created
 * before sessions, and each side must be able to read what the other writes.
 */
export const MAX_DEPTH = 100;

/** Most characters of a cursor. It is not an option, because programs that store cursors need to know the maximum. */
export const MAX_CURSOR_LENGTH = 1024;

/**
 * Most distinct keys of a message in objects whose schema does not declare them. It is not an option: it limits the
 * time for which one message blocks the event loop.
 */
export const MAX_DISTINCT_KEYS = 50_000;
