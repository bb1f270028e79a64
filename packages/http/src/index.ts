// What servers use.
export { createFetchHandler } from "./server/create-fetch-handler.js";
export type { FetchHandler, FetchHandlerOptions } from "./server/create-fetch-handler.js";

// JSON by the schema.
export { type JsonCodec, jsonCodecOf } from "./json/json-codec.js";

// What clients use.
export { type HttpTransport, httpTransport } from "./client/http-transport.js";
export type { HttpCodec } from "./client/codec.js";
export type { Fetch, FetchInit, HttpOptions, Uploads } from "./client/options.js";

// What both use.
export { type ContentCoding, gzip } from "./protocol/compression.js";
