/** The parts of core that `connect` loads when they are needed: the fallback, serving, further codecs, compression. */
export { createSession } from "@quicrpc/core";
export { webSocketTransport } from "@quicrpc/core/transport";
