/**
 * Maximum number of header fields in a request. Node silently drops fields beyond its own limit, so the server's limit
 * is one higher.
 */
export const MAX_HEADER_FIELDS = 100;
