// For the packages of this repository only: exempt from semantic versioning, any release may change or remove these names.
export { readBase64, unpadded } from "./protocol/base64.js";
export { type Envelope, ENVELOPE_COMPRESSED, FLAG_END, readEnvelopes, writeEnvelope } from "./protocol/envelope.js";
export { type ErrorDetail, type ErrorJson, errorToJson, jsonBytes, MAX_DETAILS } from "./protocol/error-json.js";
export { readHeaders, requireSmall, TRAILER_PREFIX } from "./protocol/headers.js";
export { HttpClient } from "./client/http-client.js";
export { transportOf } from "./client/http-transport.js";
export { EnvelopeCall } from "./server/envelope-call.js";
export { type HttpExchange, splitTarget } from "./server/exchange.js";
export { CODINGS } from "./server/http-call.js";
export type { MessageFormat } from "./server/message-formats.js";
export type { CallProtocol, ProtocolHost, ProtocolRoutes } from "./server/protocol.js";
export { answerText, type Bound, type Framing, isStream, Match } from "./server/routes.js";
