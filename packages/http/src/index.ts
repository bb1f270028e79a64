// What servers use.
export { createFetchHandler } from "./server/create-fetch-handler.js";
export type { FetchHandler, FetchHandlerOptions } from "./server/create-fetch-handler.js";

// JSON by the schema.
export { type JsonCodec, jsonCodecOf } from "./json/json-codec.js";
