/**
 * Parts of `@quicrpc/core` that `connect` loads when they are needed: for the fallback, for serving, for other codecs,
 * for compression, and for calls over HTTP.
 */
export { createSession } from "@quicrpc/core/internal";
export { createCallerSession, webSocketTransport } from "@quicrpc/core/transport";
export { openHttp } from "./http.js";
