/** The parts of core that `connect` loads when they are needed: the fallback, serving, further codecs, compression, calls over HTTP. */
export { createSession } from "@quicrpc/core/internal";
export { createCallerSession, webSocketTransport } from "@quicrpc/core/transport";
export { openHttp } from "./http.js";
