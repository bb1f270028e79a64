// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
export { readBase64, unpadded } from "./protocol/base64.js";
export { readHeaders } from "./protocol/headers.js";
export { writeEnvelope } from "./protocol/envelope.js";
export { EnvelopeCall } from "./server/envelope-call.js";
export { type HttpExchange, splitTarget } from "./server/exchange.js";
export { CODINGS } from "./server/http-call.js";
export type { MessageFormat } from "./server/message-formats.js";
export type { CallProtocol, ProtocolHost, ProtocolRoutes } from "./server/protocol.js";
export { answerText, type Bound, type Framing, isStream, Match } from "./server/routes.js";
