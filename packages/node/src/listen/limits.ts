/** Header fields of a request. Node drops what is beyond its own limit in silence: the server's is to be one more. */
export const MAX_HEADER_FIELDS = 100;
